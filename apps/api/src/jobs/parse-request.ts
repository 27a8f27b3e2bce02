import { badRequest } from '../http/api-error.js';
import { asObject, boolOf, stringOf } from '../http/json-members.js';

/** ParseRequest is a request to a worker (JS-210). */
export interface ParseRequest {
  readonly JobHCL: string;
  /** The text of a variable file (JS-213). */
  readonly Variables: string;
  readonly Canonicalize: boolean;
}

/** Decodes a request to parse a job file (JS-212). Other members of the body are ignored. @throws Refusal invalid */
export function readParseRequest(json: unknown): ParseRequest {
  const body = asObject(json, 'JobsParseRequest');
  const JobHCL = stringOf(body, 'JobHCL');
  if (JobHCL === '') throw badRequest('Job spec is empty');
  return { JobHCL, Variables: stringOf(body, 'Variables'), Canonicalize: boolOf(body, 'Canonicalize') };
}
