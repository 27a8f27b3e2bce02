import type { Allocation, Job } from '@waybill/model';
import { TABLE_NAMES, type TableName, type TableRows, type Tables } from '../machine/tables.js';

/** Tables that an archive omits (OP-44): the leases belong to the running cluster. */
const NOT_ARCHIVED: ReadonlySet<TableName> = new Set(['leases']);

export const ARCHIVED_TABLES: readonly TableName[] = TABLE_NAMES.filter((name) => !NOT_ARCHIVED.has(name));

/** The rows of a whole state. A missing table is empty. */
export type ArchivedTables = { readonly [N in TableName]?: readonly TableRows[N][] };

/** An archive has content that no version writes. */
export class BadRowsError extends Error {
  override readonly name = 'BadRowsError';
}

/**
 * One line of an archive: a row. The job of an allocation is a line of its own, written once for each job and version.
 */
type Line =
  | { readonly table: TableName; readonly row: object; readonly job?: number }
  | { readonly job: number; readonly row: Job };

/** A whole state, row by row, each as a JSON text without line breaks. O(state). */
export function* archiveLines(tables: Tables): Generator<string> {
  const jobs = new Map<Job, number>();
  for (const table of ARCHIVED_TABLES)
    if (table === 'allocs') {
      for (const alloc of tables.allocs.all()) yield* allocationLines(alloc, jobs);
    } else for (const row of tables[table].all()) yield JSON.stringify({ table, row } satisfies Line);
}

function* allocationLines(alloc: Allocation, jobs: Map<Job, number>): Generator<string> {
  const { Job: job, ...row } = alloc;
  if (!job) {
    yield JSON.stringify({ table: 'allocs', row } satisfies Line);
    return;
  }
  let number = jobs.get(job);
  if (number === undefined) {
    jobs.set(job, (number = jobs.size));
    yield JSON.stringify({ job: number, row: job } satisfies Line);
  }
  yield JSON.stringify({ table: 'allocs', row, job: number } satisfies Line);
}

/** @throws BadRowsError */
export function readArchive(lines: Iterable<string>): ArchivedTables {
  const rows = new Map<TableName, object[]>(ARCHIVED_TABLES.map((name) => [name, []]));
  const jobs: Job[] = [];
  for (const text of lines) {
    const line = lineOf(text);
    if (!('table' in line)) {
      if (line.job !== jobs.length) throw new BadRowsError(`job ${line.job} stands where job ${jobs.length} belongs`);
      jobs.push(line.row);
      continue;
    }
    const { table, row, job } = line;
    const into = rows.get(table);
    if (!into) throw new BadRowsError(`there is no table "${table}"`);
    if (job !== undefined && !jobs[job]) throw new BadRowsError(`an allocation names job ${job}, which is not there`);
    into.push(table === 'allocs' ? { ...row, Job: job === undefined ? null : jobs[job] } : row);
  }
  return Object.fromEntries(rows);
}

function lineOf(text: string): Line {
  try {
    const line = JSON.parse(text) as Line;
    if (typeof line === 'object' && typeof line.row === 'object' && line.row !== null) return line;
  } catch {
    // Thrown below, as for every other line that is no row.
  }
  throw new BadRowsError(`not a row: ${text.slice(0, 80)}`);
}
