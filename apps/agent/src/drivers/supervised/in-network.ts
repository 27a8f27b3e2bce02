import { programOfMachine } from '../../networks/program.transport.js';
import { StartError } from '../driver.js';
import type { UserIds } from '../user-ids.js';

/** A program, and as whom it runs; absent: as the agent. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly user: UserIds | undefined;
}

/**
 * The same command inside a network namespace (NW-35). The agent itself enters it, before it gives up its rights for the
 * command's user, who may not. @param namespace path; undefined: nothing changes @throws StartError
 */
export function inNetwork(namespace: string | undefined, { file, args, user }: Command): Command {
  if (namespace === undefined) return { file, args, user };
  const nsenter = programOfMachine('nsenter');
  if (nsenter === undefined) throw new StartError('the program nsenter (util-linux) is missing');
  const asUser = user ? [`--setuid=${user.uid}`, `--setgid=${user.gid}`] : [];
  return { file: nsenter, args: [`--net=${namespace}`, ...asUser, '--', file, ...args], user: undefined };
}
