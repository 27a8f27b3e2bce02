import { programOfMachine } from '../../networks/program.transport.js';
import { StartError } from '../driver.js';
import type { UserIds } from '../user-ids.js';

/** Command is a program with the user that runs it. Without a user, the agent's user runs it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly user: UserIds | undefined;
}

/**
 * Returns the same command inside a network namespace (NW-35). The agent enters the namespace before it drops its
 * rights, because the command's user may not enter it.
 * @param namespace its path; undefined changes nothing
 * @throws StartError
 */
export function inNetwork(namespace: string | undefined, { file, args, user }: Command): Command {
  if (namespace === undefined) return { file, args, user };
  const nsenter = programOfMachine('nsenter');
  if (nsenter === undefined) throw new StartError('the program nsenter (util-linux) is missing');
  const asUser = user ? [`--setuid=${user.uid}`, `--setgid=${user.gid}`] : [];
  return { file: nsenter, args: [`--net=${namespace}`, ...asUser, '--', file, ...args], user: undefined };
}
