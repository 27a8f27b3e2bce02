import { readFileSync } from 'node:fs';
import { type Driver, StartError } from './driver.js';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** The IDs of a task's user; undefined for an empty name (AG-274). @throws StartError if the machine has no such user */
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
 * Who a task's user is on this machine, by the name of its driver; undefined: an image has users of its own under that
 * name, there is no such user, or the driver chooses. Cost: the machine's list of users is read.
 */
export const machineUsers =
  (drivers: ReadonlyMap<string, Driver>) =>
  (driver: string, user: string): UserIds | undefined => {
    if (drivers.get(driver)?.isolation === 'image') return undefined;
    try {
      return userIds(user);
    } catch (error) {
      if (error instanceof StartError) return undefined;
      throw error;
    }
  };
