/**
 * Why something asked for is not done. The code decides what a program makes of it: it travels with calls between
 * services, with a refused transaction, and becomes the status of an HTTP answer. The text is for people, and where the
 * contract quotes it, clients compare it.
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
  /** The server has as much of this to do as it takes at once: ask again later. */
  | 'limit'
  /** The question or its answer is larger than a message may be: ask for less at once. */
  | 'too-large'
  /** Whoever could do it is not there now: ask again. */
  | 'unavailable'
  /** The server failed. */
  | 'internal';

/** The only mapping from a code to the status of an HTTP answer (API-36). */
export const HTTP_STATUS_OF = {
  invalid: 400,
  'not-found': 404,
  forbidden: 403,
  conflict: 409,
  limit: 503,
  'too-large': 413,
  unavailable: 503,
  internal: 500,
} as const satisfies Record<RefusalCode, number>;

/**
 * A request is refused, by a decision, by the state machine, or by the service that was asked. Services throw it; the
 * RPC server and the API's error filter turn it into an answer.
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
 * This process does not hold the role that the work needs, or holds it no longer: nothing more is done in its name, and
 * whoever asked asks the next holder.
 */
export class NotHolderError extends Refusal {
  override readonly name = 'NotHolderError';
  constructor(message = 'No cluster leader') {
    super('unavailable', message);
  }
}

/** For `catch`. */
export const isRefusal = (error: unknown, code: RefusalCode): boolean =>
  error instanceof Refusal && error.code === code;

/** The text of whatever was thrown. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
