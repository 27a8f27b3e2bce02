import { globMatcher } from '@waybill/model';
import { StartError } from '../driver.js';
import type { UserIds } from '../user-ids.js';

/** From and to, both with it. */
export type IdRange = readonly [number, number];

/** What this machine does not let tasks of raw_exec be or see (AG-272). */
export interface Denials {
  readonly uids: readonly IdRange[];
  readonly gids: readonly IdRange[];
  /** Names of variables, `*` for any part of one. */
  readonly variables: readonly string[];
}

export const NO_DENIALS: Denials = { uids: [], gids: [], variables: [] };

/** @throws StartError, for good, when a process may not run as that user here */
export function refuseUser({ uids, gids }: Denials, { uid, gid }: UserIds): void {
  if (isWithin(uids, uid)) throw new StartError(`running as uid ${uid} is disallowed`);
  if (isWithin(gids, gid)) throw new StartError(`running as gid ${gid} is disallowed`);
}

/** The variables that a task may see. @param ofTask patterns that its job denies besides */
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
