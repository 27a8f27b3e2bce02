import { ARCHIVE_FORMAT, type ArchiveMeta, packArchive } from '@waybill/model/snapshot-archive';
import { ARCHIVED_TABLES, archiveLines, type StateMachine } from '@waybill/state';

/** Rows written at a time: between them the process answers others. */
const ROWS_AT_ONCE = 2_000;

/**
 * The archive of a state (OP-43, OP-44): every table as of its index. Roles are not in it; their epoch is its term.
 * Cost: a copy of the state as text, besides the state that is given.
 */
export async function takeSnapshot(machine: StateMachine, id: string, version: string): Promise<Buffer> {
  const { tables, appliedIndex } = machine;
  const parts: Buffer[] = [];
  let lines: string[] = [];
  for (const line of archiveLines(tables)) {
    lines.push(line);
    if (lines.length < ROWS_AT_ONCE) continue;
    parts.push(textOf(lines));
    lines = [];
    await new Promise((resolve) => setImmediate(resolve));
  }
  parts.push(textOf(lines));
  const meta: ArchiveMeta = {
    Format: ARCHIVE_FORMAT,
    ID: id,
    Index: appliedIndex,
    Term: machine.epochOf('projector'),
    Version: version,
    Tables: Object.fromEntries(ARCHIVED_TABLES.map((name) => [name, tables[name].size])),
  };
  return packArchive(meta, Buffer.concat(parts));
}

const textOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));
