import { readdir, readFile } from 'node:fs/promises';
import { SharedRun, isYounger } from '@waybill/model';
import { isErrno } from '@waybill/processes';

/** `USER_HZ`, the unit of processor time in /proc. It is the same on every Linux that Node supports. */
export const TICKS_PER_SECOND = 100;
/**
 * Callers within this time in milliseconds share one reading of /proc, because a reading opens a file per process of
 * the machine.
 */
export const TABLE_REUSE_MS = 250;
/** The number of files of /proc that one reading opens at the same time. */
const READ_AT_ONCE = 32;

/** ProcessRow is one process as /proc shows it. Its ticks include those of ended children that it has waited for. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  readonly userTicks: number;
  readonly systemTicks: number;
}

export interface ProcessTable {
  readonly takenAtMs: number;
  readonly rows: readonly ProcessRow[];
}

/** ProcessMemory is the memory of one process in bytes. */
export interface ProcessMemory {
  readonly rssBytes: number;
  readonly swapBytes: number;
}

/**
 * ProcessTables reads the processes of this machine. It keeps the newest table for TABLE_REUSE_MS, and callers that
 * need a newer one share a reading. Cost of a reading: one small file per process of the machine. Without /proc there
 * are no rows.
 */
export class ProcessTables {
  private latest: ProcessTable | undefined;
  private readonly looking = new SharedRun(async () => void (this.latest = await readProcessTable()));

  /**
   * Returns a table that is at most TABLE_REUSE_MS old.
   * @throws the system's error, for instance if no descriptors are left
   */
  async now(): Promise<ProcessTable> {
    if (this.latest && isYounger(this.latest.takenAtMs, Date.now(), TABLE_REUSE_MS)) return this.latest;
    return this.fresh();
  }

  /** Returns a table whose reading began after this call. @throws as `now` */
  async fresh(): Promise<ProcessTable> {
    await this.looking.requestRun();
    return this.latest ?? NO_TABLE;
  }

  /** Returns the memory of a process; zero if the process is gone. */
  async memoryOf(pid: number): Promise<ProcessMemory> {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return { rssBytes: kilobytes(status, 'VmRSS'), swapBytes: kilobytes(status, 'VmSwap') };
  }
}

/**
 * Returns the processes of a task: those of its session and all their descendants. Cost: O(processes of the machine).
 */
export function treeOf(table: ProcessTable, leader: number): ProcessRow[] {
  const children = new Map<number, ProcessRow[]>();
  for (const row of table.rows) {
    const siblings = children.get(row.parent);
    if (siblings) siblings.push(row);
    else children.set(row.parent, [row]);
  }
  const members = new Map<number, ProcessRow>();
  const toVisit = table.rows.filter((row) => row.pid === leader || row.session === leader);
  for (let row = toVisit.pop(); row; row = toVisit.pop()) {
    if (members.has(row.pid)) continue;
    members.set(row.pid, row);
    for (const item of children.get(row.pid) ?? []) toVisit.push(item);
  }
  return [...members.values()];
}

const NO_TABLE: ProcessTable = { takenAtMs: 0, rows: [] };

async function readProcessTable(): Promise<ProcessTable> {
  const takenAtMs = Date.now();
  const pids = (await readdir('/proc').catch(unlessGone([]))).filter((name) => /^\d+$/.test(name)).values();
  const rows: ProcessRow[] = [];
  const readRemaining = async (): Promise<void> => {
    for (const pid of pids) {
      const row = parsedRow(await readFile(`/proc/${pid}/stat`, 'utf8').catch(unlessGone('')));
      if (row) rows.push(row);
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, readRemaining));
  return { takenAtMs, rows };
}

/** Only these errors mean that a process is gone. If others did, a process that should be killed would survive. */
const unlessGone =
  <T>(nothing: T) =>
  (error: unknown): T => {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH')) return nothing;
    throw error;
  };

/** Parses a line of /proc/<pid>/stat. Returns undefined for a process that is gone or a zombie. */
export function parsedRow(stat: string): ProcessRow | undefined {
  // The name in parentheses may contain any character. The fields after it are fixed.
  const end = stat.lastIndexOf(')');
  const [state, parent, , session, ...rest] = stat.slice(end + 2).split(' ');
  if (end < 0 || state === 'Z' || state === 'X') return undefined;
  const [user, system, childUser, childSystem] = rest.slice(7, 11).map(Number);
  return {
    pid: Number.parseInt(stat, 10),
    parent: Number(parent),
    session: Number(session),
    userTicks: (user ?? 0) + (childUser ?? 0),
    systemTicks: (system ?? 0) + (childSystem ?? 0),
  };
}

function kilobytes(status: string, name: string): number {
  const line = status.split('\n').find((one) => one.startsWith(`${name}:`));
  return Number(/(\d+) kB$/.exec(line ?? '')?.[1] ?? 0) * 1024;
}
