/**
 * The kind of reason for a refusal. Programs decide by this code. It travels with calls between services and with a
 * refused transaction, and determines the status of an HTTP response. The text beside it is for people; clients compare
 * those texts that the contract quotes.
 */
export type RefusalCode =
  /** The request itself is wrong: if it is sent again unchanged, it is refused again. */
  | 'invalid'
  /** The request names an object that does not exist. */
  | 'not-found'
  /** The caller does not have the right to do this. */
  | 'forbidden'
  /** The request is well formed, but the present state of its object does not allow it. */
  | 'conflict'
  /** The object has as many users as it can have. The request can succeed once one of them has left. */
  | 'full'
  /** The server already processes as many requests of this kind as it accepts at once. Try again later. */
  | 'limit'
  /** The request or its response is larger than a message may be. Request less at once. */
  | 'too-large'
  /** The process or server that could carry out the request cannot be reached now. Try again. */
  | 'unavailable'
  /** A step failed, but another attempt or another instance of a plugin may succeed. */
  | 'retryable'
  /** The server failed. */
  | 'internal';

/** The only mapping from a code to the status of an HTTP response (API-36). */
export const HTTP_STATUS_OF = {
  invalid: 400,
  'not-found': 404,
  forbidden: 403,
  conflict: 409,
  full: 409,
  limit: 503,
  'too-large': 413,
  unavailable: 503,
  retryable: 500,
  internal: 500,
} as const satisfies Record<RefusalCode, number>;

/**
 * A decision, the state machine or a service refuses a request. Services throw it. The RPC server and the API's error
 * filter turn it into a response.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  constructor(
    readonly code: RefusalCode,
    message: string,
  ) {
    super(message);
  }
}

/**
 * This process does not hold the role that the work needs, or no longer holds it. The work stops, and callers retry at
 * the next holder.
 */
export class NotHolderError extends Refusal {
  override readonly name = 'NotHolderError';
  constructor(message = 'No cluster leader') {
    super('unavailable', message);
  }
}

/** Whether a caught error is a refusal with this code. */
export const isRefusal = (error: unknown, code: RefusalCode): boolean =>
  error instanceof Refusal && error.code === code;

/** Returns the message of an error, or the text of another thrown value. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
