import { globMatcher } from '@waybill/model';
import { StartError } from '../driver.js';
import type { UserIds } from '../user-ids.js';

/** IdRange is the first and the last id of a range, both included. */
export type IdRange = readonly [number, number];

/** Denials are the users and variables that this machine refuses to tasks of raw_exec (AG-272). */
export interface Denials {
  readonly uids: readonly IdRange[];
  readonly gids: readonly IdRange[];
  /** Names of variables; `*` matches any part of a name. */
  readonly variables: readonly string[];
}

export const NO_DENIALS: Denials = { uids: [], gids: [], variables: [] };

/** Refuses a denied user. @throws StartError, not recoverable */
export function refuseUser({ uids, gids }: Denials, { uid, gid }: UserIds): void {
  if (isWithin(uids, uid)) throw new StartError(`running as uid ${uid} is disallowed`);
  if (isWithin(gids, gid)) throw new StartError(`running as gid ${gid} is disallowed`);
}

/** Returns the variables that a task may see. @param ofTask further patterns that its job denies */
export function allowedVariables(
  env: Readonly<Record<string, string>>,
  { variables }: Denials,
  ofTask: readonly string[],
): Record<string, string> {
  const isDenied = globMatcher([...variables, ...ofTask]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isDenied(name)));
}

const isWithin = (ranges: readonly IdRange[], id: number): boolean =>
  ranges.some(([from, to]) => from <= id && id <= to);
