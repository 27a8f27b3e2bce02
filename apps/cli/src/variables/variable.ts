import type { Call } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { AnswerFailure } from '../server/api-failure.js';

/** A variable in a list of the API. Indexes and times are exact only in the text of the response. */
export interface VariableStub {
  readonly Namespace: string;
  readonly Path: string;
  readonly CreateIndex: number;
  readonly CreateTime: number;
  readonly ModifyIndex: number;
  readonly ModifyTime: number;
  readonly Lock?: { readonly ID: string; readonly TTL: string; readonly LockDelay: string };
}

/** A variable with its items. */
export interface Variable extends VariableStub {
  readonly Items?: Readonly<Record<string, string>>;
}

/** Returns the address of a variable. The slashes of its path stay. */
export const variableUrl = (path: string): string => `/v1/var/${path.split('/').map(encodeURIComponent).join('/')}`;

/** @throws CommandFailure for all namespaces, because the command needs exactly one (CL-852) */
export function forbidWildcard({ api }: Pick<Call, 'api'>): void {
  if (api.connection.namespace === '*')
    throw new CommandFailure('The wildcard namespace ("*") is not valid for this command.');
}

/**
 * Returns the variable that a refused write found: the present variable, or only its name if another process holds its
 * lock (OP-196, OP-201).
 */
export function conflictIn(error: unknown): Partial<VariableStub> | undefined {
  if (!(error instanceof AnswerFailure) || error.status !== 409) return undefined;
  try {
    const variable: unknown = JSON.parse(error.text);
    return typeof variable === 'object' && variable !== null ? variable : undefined;
  } catch {
    return undefined; // a text: the lock was not held
  }
}

/**
 * Describes why a write of a variable failed.
 * @param checkIndex the index of a conditional write, or undefined
 * @param hint the next step for the user, given the present index
 */
export function writeFailure(
  doing: string,
  error: unknown,
  checkIndex: string | undefined,
  hint: (present: string) => string,
): Error {
  const conflict = conflictIn(error);
  if (!conflict) return failed(doing, error);
  if (checkIndex === undefined || (conflict.ModifyIndex === undefined && checkIndex === '0'))
    return new CommandFailure(`Error ${doing}: somebody else holds the lock of "${conflict.Path}"`);
  const present = String(conflict.ModifyIndex ?? 0);
  return new CommandFailure(
    `Check-and-Set conflict\n\n  Your provided check-index of ${checkIndex} does not match the server-side index of ${present}.\n\n  ${hint(present)}`,
  );
}
