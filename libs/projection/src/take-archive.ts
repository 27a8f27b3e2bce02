import { WAYBILL_VERSION } from '@waybill/model';
import { ARCHIVE_FORMAT, type ArchiveMeta, packArchive } from '@waybill/model/snapshot-archive';
import { ARCHIVED_TABLES, archiveLines, StateMachine, type TableName, type Tables } from '@waybill/state';
import type { Pool } from 'pg';
import { EventStreamUnavailableError } from './events/event-log.transport.js';
import { loadSnapshot } from './feed/snapshot-source.js';

/** Rows written at a time: between them the process answers others. */
const ROWS_AT_ONCE = 2_000;

type FloorAt = (index: number) => Promise<number>;

/** An archive and what it says of itself. */
export interface TakenArchive {
  readonly meta: ArchiveMeta;
  readonly bytes: Buffer;
}

/**
 * The archive of the whole state (OP-43, OP-44): every table as of one index. Roles are not in it; their epoch is its term.
 * Cost: a copy of the state, and once more as text.
 * @param floorAt lowest index whose events can be read when the read model is at this one
 */
export async function takeArchive(pool: Pool, floorAt: FloorAt, id: string): Promise<TakenArchive> {
  const machine = new StateMachine();
  await loadSnapshot(pool, machine);
  return archiveOf(machine, floorAt, id);
}

/** The archive of a state. Cost: once more the state, as text. */
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

/** A backup can be taken while NATS is down. */
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
