import { readFileSync } from 'node:fs';
import { type Driver, StartError } from './driver.js';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns the IDs of a task's user, or undefined for an empty name (AG-274).
 * @throws StartError if the machine has no such user
 */
export function userIds(user: string): UserIds | undefined {
  if (user === '') return undefined;
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name, , uid]) => name === user || uid === user);
  if (!entry) throw new StartError(`failed to find the user "${user}"`);
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

/**
 * Returns the IDs of a task's user on this machine, by the name of the task's driver. The result is undefined if the
 * driver's images have users of their own, if the machine has no such user, or if the task runs as the agent's user.
 * Cost: each call reads the machine's list of users.
 */
export const machineUsers =
  (drivers: ReadonlyMap<string, Pick<Driver, 'isolation' | 'defaultUser'>>) =>
  (driver: string, user: string): UserIds | undefined => {
    const { isolation, defaultUser = '' } = drivers.get(driver) ?? {};
    if (isolation === 'image') return undefined;
    try {
      return userIds(user || defaultUser);
    } catch (error) {
      if (error instanceof StartError) return undefined;
      throw error;
    }
  };
