import { readFileSync } from 'node:fs';
import { StartError } from './driver.js';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** AG-274: ids of a task's user on this machine; undefined for an empty name. @throws StartError when there is none of that name */
export function userIds(user: string): UserIds | undefined {
  if (user === '') return undefined;
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name, , uid]) => name === user || uid === user);
  if (!entry) throw new StartError(`failed to find the user "${user}"`);
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}
