import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { UnsupportedPlatformError } from './failures.js';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Candidates for the user. PostgreSQL refuses to run as root. These users exist nearly everywhere, and `initdb` needs
 * one with a passwd entry.
 */
const CANDIDATES = ['postgres', 'nobody'];

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Returns an unprivileged user. Throws UnsupportedPlatformError if there is none. */
export function unprivilegedUser(): UserIds {
  for (const name of CANDIDATES)
    try {
      return { uid: idOf('-u', name), gid: idOf('-g', name) };
    } catch {
      // no such user: the next one
    }
  throw new UnsupportedPlatformError(
    `PostgreSQL does not run as root and there is none of the users ${CANDIDATES.join(', ')}: start as an ordinary user.`,
  );
}

function idOf(flag: '-u' | '-g', name: string): number {
  return Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' }));
}

/** Says whether any user can pass through this directory and all above it. Missing directories count as passable. */
export function isReachableByAll(dir: string): boolean {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    const mode = statSync(at, { throwIfNoEntry: false })?.mode ?? 0o001;
    if ((mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}
