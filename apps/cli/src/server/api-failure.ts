import type { IncomingHttpHeaders } from 'node:http';

/** The longest text of an error answer that is shown (CL-1119). */
const MAX_BODY = 1_000;

/** The server answered with something else than 200 (CL-161). */
export class AnswerFailure extends Error {
  override readonly name = 'AnswerFailure';
  /** What the server said, trimmed and cut. */
  readonly body: string;

  constructor(
    readonly status: number,
    /** The same whole, for answers that say something with a status of their own. */
    readonly text: string,
    readonly headers: IncomingHttpHeaders = {},
  ) {
    const body = text.trim().slice(0, MAX_BODY);
    super(`Unexpected response code: ${status}${body === '' ? '' : ` (${body})`}`);
    this.body = body;
  }
}

/** No answer, or one that broke off: the address is shown, secrets are not (CL-128, CL-161). */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure';
}

/** What may be over a moment later: no connection, or the server's own trouble. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionFailure) return true;
  return error instanceof AnswerFailure && (error.status >= 500 || error.status === 429);
}

export const isNotFound = (error: unknown): boolean => error instanceof AnswerFailure && error.status === 404;
