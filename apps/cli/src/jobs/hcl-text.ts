import path from 'node:path';
import { JobspecError } from '@waybill/jobspec';
import { causeOf } from '../failure.js';

/** What messages call a file that was given as an argument; `-` is stdin. */
export const sourceName = (given: string): string => (given === '-' ? 'stdin' : path.basename(given));

/** What is wrong with a text in HCL, with the line it stands in; of any other failure its message. */
export const explained = (error: unknown): string =>
  error instanceof JobspecError ? error.illustrated : causeOf(error);
