import { readdir, readFile } from 'node:fs/promises';
import { SharedRun, isYounger } from '@waybill/model';
import { isErrno } from '@waybill/processes';

/** `USER_HZ`: what /proc counts processor time in, the same on every Linux that Node runs on. */
export const TICKS_PER_SECOND = 100;
/** Askers within this time share one look at /proc: it costs a file for each process of the machine. */
export const TABLE_REUSE_MS = 250;
/** Files of /proc that one look has open at a time. */
const READ_AT_ONCE = 32;

/** One process as /proc shows it. Ticks include those of its children that ended and were waited for. */
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

/** Bytes. */
export interface ProcessMemory {
  readonly rssBytes: number;
  readonly swapBytes: number;
}

/**
 * The processes of this machine. Keeps the newest table for TABLE_REUSE_MS; of those who want a newer one all share a look.
 * Cost of a look: one small read for each process of the machine. Where there is no /proc: no rows.
 */
export class ProcessTables {
  private latest: ProcessTable | undefined;
  private readonly looking = new SharedRun(async () => void (this.latest = await readProcessTable()));

  /** @throws what the system says: it has no descriptors left, say */
  async now(): Promise<ProcessTable> {
    if (this.latest && isYounger(this.latest.takenAtMs, Date.now(), TABLE_REUSE_MS)) return this.latest;
    return this.fresh();
  }

  /** One that was begun after this call. @throws as `now` */
  async fresh(): Promise<ProcessTable> {
    await this.looking.requestRun();
    return this.latest ?? NO_TABLE;
  }

  /** Zero for a process that is gone. */
  async memoryOf(pid: number): Promise<ProcessMemory> {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return { rssBytes: kilobytes(status, 'VmRSS'), swapBytes: kilobytes(status, 'VmSwap') };
  }
}

/** The processes of a task: those of its session, and whatever descends from it. O(processes of the machine). */
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
  const readOn = async (): Promise<void> => {
    for (const pid of pids) {
      const row = parsedRow(await readFile(`/proc/${pid}/stat`, 'utf8').catch(unlessGone('')));
      if (row) rows.push(row);
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, readOn));
  return { takenAtMs, rows };
}

/** Nothing else is taken for a process that is gone: who is to be killed would live on. */
const unlessGone =
  <T>(nothing: T) =>
  (error: unknown): T => {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH')) return nothing;
    throw error;
  };

/** A line of /proc/<pid>/stat; undefined for a process that is gone, or of which only its exit code is left. */
export function parsedRow(stat: string): ProcessRow | undefined {
  // The name in parentheses may hold anything; the fields behind its end are fixed.
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
