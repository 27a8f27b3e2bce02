import { readFileSync } from 'node:fs';

/**
 * Which process: a pid alone is given to another process sooner or later, pid and start time and boot are not. Where
 * the machine has no /proc, `startTicks` and `bootId` are `-` and the pid has to do.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
}

const UNKNOWN = '-';

export function bootId(): string {
  return readOr('/proc/sys/kernel/random/boot_id', UNKNOWN).trim();
}

/** The process that has this pid now, or undefined. A zombie counts as gone. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const stat = readOr(`/proc/${pid}/stat`, '');
  if (stat === '') return hasProc() || !exists(pid) ? undefined : { pid, startTicks: UNKNOWN, bootId: UNKNOWN };
  // The name in parentheses may hold anything; the fields after its end are fixed: state is the first, start the 20th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return { pid, startTicks: fields[19] ?? UNKNOWN, bootId: bootId() };
}

/** True while exactly this process lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identityOf(identity.pid);
  return now !== undefined && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
}

/** Sends a signal to a process, or with `group` to its whole group; one that is gone is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals, group = false): void {
  try {
    process.kill(group ? -pid : pid, signal);
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error;
  }
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

const hasProc = (): boolean => readOr('/proc/self/stat', '') !== '';

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}
