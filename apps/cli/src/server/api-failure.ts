import type { IncomingHttpHeaders } from 'node:http';

/** Longest text of an error response that is shown (CL-1119). */
const MAX_BODY = 1_000;

/** The server answered with a status other than 200 (CL-161). */
export class AnswerFailure extends Error {
  override readonly name = 'AnswerFailure';
  /** The body, trimmed and cut. */
  readonly body: string;

  constructor(
    readonly status: number,
    /** The full text of the body, for responses with a status of their own. */
    readonly text: string,
    readonly headers: IncomingHttpHeaders = {},
  ) {
    const body = text.trim().slice(0, MAX_BODY);
    super(`Unexpected response code: ${status}${body === '' ? '' : ` (${body})`}`);
    this.body = body;
  }
}

/** There was no response, or it broke off. The message contains the address without secrets (CL-128, CL-161). */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure';
}

/** Whether a failure may be temporary: the connection failed, or the server reported an internal problem. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionFailure) return true;
  return error instanceof AnswerFailure && (error.status >= 500 || error.status === 429);
}

export const isNotFound = (error: unknown): boolean => error instanceof AnswerFailure && error.status === 404;
