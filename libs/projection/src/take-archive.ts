import { WAYBILL_VERSION } from '@waybill/model';
import { ARCHIVE_FORMAT, type ArchiveMeta, packArchive } from '@waybill/model/snapshot-archive';
import { ARCHIVED_TABLES, archiveLines, StateMachine, type TableName, type Tables } from '@waybill/state';
import type { Pool } from 'pg';
import { EventStreamUnavailableError } from './events/event-log.transport.js';
import { loadSnapshot } from './feed/snapshot-source.js';

/** Rows that are written at a time. Between two portions, the process serves other requests. */
const ROWS_AT_ONCE = 2_000;

type FloorAt = (index: number) => Promise<number>;

/** An archive and its description. */
export interface TakenArchive {
  readonly meta: ArchiveMeta;
  readonly bytes: Buffer;
}

/**
 * Archives the whole state (OP-43, OP-44): every table at one index. Roles are left out; their epoch is the archive's
 * term. Cost: a copy of the state, and its text.
 * @param floorAt returns the lowest index whose events can be read when the read model is at this one
 */
export async function takeArchive(pool: Pool, floorAt: FloorAt, id: string): Promise<TakenArchive> {
  const machine = new StateMachine();
  await loadSnapshot(pool, machine);
  return archiveOf(machine, floorAt, id);
}

/** Archives a state. Cost: the text of the state. */
export async function archiveOf(machine: StateMachine, floorAt: FloorAt, id: string): Promise<TakenArchive> {
  const { tables, appliedIndex } = machine;
  const ofTables = (figure: (name: TableName) => number): Record<string, number> =>
    Object.fromEntries(ARCHIVED_TABLES.map((name) => [name, figure(name)]));
  const meta: ArchiveMeta = {
    Format: ARCHIVE_FORMAT,
    ID: id,
    Index: appliedIndex,
    Term: machine.epochOf('projector'),
    Version: WAYBILL_VERSION,
    Tables: ofTables((name) => tables[name].size),
    TableIndexes: ofTables((name) => tables[name].tableIndex),
    EventFloor: await floorIfKnown(floorAt, appliedIndex),
  };
  return { meta, bytes: await packArchive(meta, await textOf(tables)) };
}

/** Returns the floor, or null while NATS is down, because a backup must work then too. */
async function floorIfKnown(floorAt: FloorAt, index: number): Promise<number | null> {
  try {
    return await floorAt(index);
  } catch (error) {
    if (error instanceof EventStreamUnavailableError) return null;
    throw error;
  }
}

async function textOf(tables: Tables): Promise<Buffer> {
  const parts: Buffer[] = [];
  let lines: string[] = [];
  for (const line of archiveLines(tables)) {
    if (lines.push(`${line}\n`) < ROWS_AT_ONCE) continue;
    parts.push(Buffer.from(lines.join('')));
    lines = [];
    await new Promise((resolve) => setImmediate(resolve));
  }
  parts.push(Buffer.from(lines.join('')));
  return Buffer.concat(parts);
}
