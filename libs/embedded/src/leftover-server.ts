import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ServerFailedError } from './failures.js';

/**
 * The longest wait in milliseconds. The server of a killed launcher gets 15 s to end in order before its watcher kills
 * it.
 */
const LONGEST_WAIT_MS = 20_000;
const POLL_MS = 20;
/** Shorter waits are not reported. */
const QUIET_MS = 300;

/** ServerFiles says how to find the process of a server that may still run. */
export interface ServerFiles {
  readonly server: string;
  readonly pidFile: string;
  /** Words that only the command line of that server contains. */
  readonly commandLineHolds: readonly string[];
  readonly logFile: string;
}

export interface LeftoverServer extends ServerFiles {
  readonly log: (line: string) => void;
}

/**
 * Waits until the server of a previous launcher has ended, at most 20 s. It removes a pid file whose process has gone
 * or is another program now: PostgreSQL would take any living process of the same user for its predecessor. Throws
 * ServerFailedError if the server is still there afterwards. Call it only while holding the data directory.
 */
export async function awaitLeftoverServer(leftover: LeftoverServer): Promise<void> {
  const startedMs = performance.now();
  let told = false;
  for (;;) {
    const pid = pidIn(leftover.pidFile);
    if (pid === undefined) return;
    if (!isAlive(pid) || !isServer(pid, leftover.commandLineHolds)) {
      rmSync(leftover.pidFile, { force: true });
      return;
    }
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > LONGEST_WAIT_MS)
      throw new ServerFailedError(
        leftover.server,
        `process ${pid} of an earlier run still uses its data; end it and try again`,
        leftover.logFile,
      );
    if (waitedMs > QUIET_MS && !told) {
      leftover.log(`waiting for ${leftover.server} of the previous run (process ${pid}) to finish`);
      told = true;
    }
    await delay(POLL_MS);
  }
}

/** Returns the process of a server that runs now. */
export function runningServer({ pidFile, commandLineHolds }: ServerFiles): number | undefined {
  const pid = pidIn(pidFile);
  return pid !== undefined && isAlive(pid) && isServer(pid, commandLineHolds) ? pid : undefined;
}

function pidIn(file: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Says whether a process lives. It may belong to another user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Says whether a process is the server. Without /proc (outside Linux) every living process counts. */
function isServer(pid: number, words: readonly string[]): boolean {
  if (process.platform !== 'linux') return true;
  try {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return words.every((word) => commandLine.includes(word));
  } catch {
    return false;
  }
}
