import { nameOf, status } from './status.js';

/** Begins the text of an error that another attempt may not meet (VL-252). Programs go by `isRetryable`. */
export const RETRYABLE_PREFIX = 'CSI client error (retryable): ';

/** Explains that another attempt may not meet the error. */
export const RETRYABLE = Symbol('retryable');

/** What to make of an error, as a text before the plugin's own words. */
export type Explanation = string | typeof RETRYABLE;

/**
 * A plugin refused, failed or did not answer. Decisions are made on `code` alone (CW-9); the message is for people and
 * names the code as plugins' authors know it, which VL-100 reads. It never has anything of the request in it (CW-11).
 */
export class CsiError extends Error {
  override readonly name = 'CsiError';
  /** Another attempt may not meet this error (VL-252). */
  readonly isRetryable: boolean;

  constructor(
    readonly method: string,
    readonly code: number,
    readonly details: string,
    explanation: Explanation = '',
  ) {
    super(
      `${explanation === RETRYABLE ? RETRYABLE_PREFIX : explanation}rpc error: code = ${nameOf(code)} desc = ${details}`,
    );
    this.isRetryable = explanation === RETRYABLE;
  }

  explained(explanation: Explanation): CsiError {
    return new CsiError(this.method, this.code, this.details, explanation);
  }
}

/** VL-254: the call would be refused for lack of this; it was not made. */
export class CsiArgumentError extends Error {
  override readonly name = 'CsiArgumentError';
}

/** The plugin answered, and the answer lacks what it must have. */
export class CsiAnswerError extends Error {
  override readonly name = 'CsiAnswerError';
}

const TRANSIENT: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.RESOURCE_EXHAUSTED,
  status.DEADLINE_EXCEEDED,
]);

/** VL-250: worth another try at once. A deadline: the try's own. */
export function isTransient(error: unknown): boolean {
  return error instanceof CsiError && TRANSIENT.has(error.code);
}

/** VL-251: what was to be undone is not there. @returns false if so */
export async function isThere(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof CsiError && error.code === status.NOT_FOUND) return false;
    throw error;
  }
}

/** Explanations by code, put before the plugin's words; VL-253's for every method of the side. */
export async function explaining<T>(
  side: 'controller' | 'node',
  call: Promise<T>,
  explanations: Partial<Record<number, Explanation>> = {},
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof CsiError)) throw error;
    const internal = `${side} plugin returned an internal error, check the plugin allocation logs for more information: `;
    const explanation = error.code === status.INTERNAL ? internal : explanations[error.code];
    throw explanation === undefined ? error : error.explained(explanation);
  }
}
