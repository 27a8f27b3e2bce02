import { randomBytes } from 'node:crypto';
import { BatchWriter, migrate, openPool } from '@waybill/projection';
import { type Applied, StateMachine, TABLE_NAMES } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { readLog } from './log.transport.js';

/** Transactions written at a time. */
const BATCH_TXNS = 500;

/** What a table comes to: rows, and a digest of all their columns. */
export interface TableDigest {
  readonly rows: number;
  readonly digest: string;
}

export interface ProjectionDigests {
  readonly index: number;
  /** Below it the records of transactions may have been removed: they are not compared. */
  readonly historyFloor: number;
  readonly tables: ReadonlyMap<string, TableDigest>;
  /** Rows that Postgres refused to store in their tables. */
  readonly setAside: number;
}

/** Columns of which part of a table is compared; a row's JSON is compared whatever the order of its members. */
const TABLES: readonly { readonly name: string; readonly where: string }[] = [
  ...TABLE_NAMES.map((name) => ({ name, where: 'true' })),
  { name: 'table_index', where: 'true' },
  { name: 'txn', where: 't.index >= $1' },
  { name: 'txn_object', where: 't.index >= $1' },
  {
    name: 'alloc_job',
    where: `exists (select from allocs a where a.job_key = t.key)
      or exists (select from txn_object o where o.job_key = t.key and o.index >= $1)`,
  },
];

/** Every table of a projection, as of one index. Cost: reads and hashes all rows. */
export async function digestProjection(databaseUrl: string, historyFloor?: number): Promise<ProjectionDigests> {
  const pool = openPool(databaseUrl, { size: 1, applicationName: 'waybill verify', answerTimeoutMs: 0 });
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const { rows } = await client.query<{ applied: string; floor: string; aside: string }>(
      'select applied, history_floor as floor, (select count(*) from set_aside) as aside from projection where id = 1',
    );
    const floor = historyFloor ?? Number(rows[0]?.floor ?? 1);
    const tables = new Map<string, TableDigest>();
    for (const { name, where } of TABLES) tables.set(name, await digestTable(client, name, where, floor));
    const { applied = 0, aside = 0 } = rows[0] ?? {};
    return { index: Number(applied), historyFloor: floor, tables, setAside: Number(aside) };
  } finally {
    client.release(true);
    await pool.end();
  }
}

async function digestTable(client: PoolClient, name: string, where: string, floor: number): Promise<TableDigest> {
  const { rows } = await client.query<{ rows: string; digest: string }>(
    `select count(*) as rows, md5(coalesce(string_agg(d, '' order by d), '')) as digest
       from (select md5(to_jsonb(t)::text) as d from "${name}" t where ${where}) x`,
    where.includes('$1') ? [floor] : [],
  );
  return { rows: Number(rows[0]?.rows ?? 0), digest: rows[0]?.digest ?? '' };
}

export interface Rebuilding {
  readonly natsUrl: string;
  readonly natsCredentials: string | undefined;
  /** The server on which a database is made for this, and dropped afterwards: the user must be allowed to. */
  readonly databaseUrl: string;
  readonly until: number;
  readonly historyFloor: number;
}

/**
 * The projection made anew from the first transaction, in a database of its own.
 * @throws TrimmedLogError, and what the servers fail with
 */
export async function digestRebuilt(wanted: Rebuilding): Promise<ProjectionDigests> {
  const name = `waybill_verify_${randomBytes(6).toString('hex')}`;
  const server = openPool(wanted.databaseUrl, { size: 1, applicationName: 'waybill verify', answerTimeoutMs: 0 });
  try {
    await server.query(`create database ${name}`);
    const url = new URL(wanted.databaseUrl);
    url.pathname = `/${name}`;
    try {
      await rebuild(url.href, wanted);
      return await digestProjection(url.href, wanted.historyFloor);
    } finally {
      await server.query(`drop database ${name} with (force)`);
    }
  } finally {
    await server.end();
  }
}

async function rebuild(databaseUrl: string, { natsUrl, natsCredentials, until }: Rebuilding): Promise<void> {
  await migrate(databaseUrl);
  const pool: Pool = openPool(databaseUrl, { size: 1, applicationName: 'waybill verify', answerTimeoutMs: 0 });
  try {
    const writer = new BatchWriter(pool);
    const machine = new StateMachine();
    let batch: Applied[] = [];
    let written: Promise<unknown> = Promise.resolve();
    const flush = (): void => {
      const full = batch;
      batch = [];
      if (full.length > 0) written = written.then(() => writer.write(full));
    };
    await readLog({ natsUrl, natsCredentials, until }, (txn) => {
      batch.push(machine.apply(txn));
      if (batch.length >= BATCH_TXNS) flush();
    });
    flush();
    await written;
  } finally {
    await pool.end();
  }
}
