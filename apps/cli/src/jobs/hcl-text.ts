import path from 'node:path';
import { JobspecError } from '@waybill/jobspec';
import { causeOf } from '../failure.js';

/** Returns the name of a file argument for messages. `-` is stdin. */
export const sourceName = (given: string): string => (given === '-' ? 'stdin' : path.basename(given));

/** Describes an error in HCL text with its line, and any other error by its message. */
export const explained = (error: unknown): string =>
  error instanceof JobspecError ? error.illustrated : causeOf(error);
