import { nameOf, status } from './status.js';

/** Prefix of an error that may not recur (VL-252). Programs check `isRetryable`. */
export const RETRYABLE_PREFIX = 'CSI client error (retryable): ';

/** Explains that the error may not recur. */
export const RETRYABLE = Symbol('retryable');

/** The explanation of an error, in front of the plugin's own text. */
export type Explanation = string | typeof RETRYABLE;

/**
 * A plugin refused, failed or did not answer. Decisions use only `code` (CW-9). The message is for people, and names
 * the code with the name that VL-100 expects. It never contains parts of the request (CW-11).
 */
export class CsiError extends Error {
  override readonly name = 'CsiError';
  /** Whether the error may not recur (VL-252). */
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

/** An argument is missing, so the call was not made (VL-254). */
export class CsiArgumentError extends Error {
  override readonly name = 'CsiArgumentError';
}

/** The plugin's response lacks a required part. */
export class CsiAnswerError extends Error {
  override readonly name = 'CsiAnswerError';
}

const TRANSIENT: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.RESOURCE_EXHAUSTED,
  status.DEADLINE_EXCEEDED,
]);

/** Whether an immediate retry may succeed (VL-250). A deadline is that of a single try. */
export function isTransient(error: unknown): boolean {
  return error instanceof CsiError && TRANSIENT.has(error.code);
}

/** Whether the object of an undoing call exists (VL-251). @returns false if the plugin does not know it */
export async function isThere(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof CsiError && error.code === status.NOT_FOUND) return false;
    throw error;
  }
}

/** Adds explanations by code in front of the plugin's text. Those of VL-253 apply to every method of the side. */
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
