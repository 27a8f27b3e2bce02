/**
 * The kind of reason for which a request is not carried out. Programs decide by this code: it travels with calls between
 * services and with a refused transaction, and becomes the status of an HTTP answer. The text beside it is for people;
 * clients compare those texts that the contract quotes.
 */
export type RefusalCode =
  /** The request itself is wrong: sent again unchanged, it is refused again. */
  | 'invalid'
  /** The request names an object that does not exist. */
  | 'not-found'
  /** The caller may not do this. */
  | 'forbidden'
  /** The request is well formed, and the present state of its object does not allow it. */
  | 'conflict'
  /** The object has as many users as it takes. The request can succeed once one of them has left. */
  | 'full'
  /** The server already carries out as many requests of this kind as it takes at once. Ask again later. */
  | 'limit'
  /** The request or its answer is larger than a message may be. Ask for less at once. */
  | 'too-large'
  /** The process or server that could carry out the request cannot be reached now. Ask again. */
  | 'unavailable'
  /** A step failed for a reason that another attempt, or another instance of a plugin, may not meet. */
  | 'retryable'
  /** The server failed. */
  | 'internal';

/** The only mapping from a code to the status of an HTTP answer (API-36). */
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
 * A request is refused, by a decision, by the state machine, or by a service. Services throw it; the RPC server and the
 * API's error filter turn it into an answer.
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
 * This process does not hold the role that the work needs, or no longer holds it. The work stops, and callers ask the
 * next holder.
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

/** The message of an error; of any other thrown value its text. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
