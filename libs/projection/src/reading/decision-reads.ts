import type { Job, Namespace, NodePool, SchedulerConfiguration } from '@waybill/model';
import { SINGLETON_KEY, type TableName } from '@waybill/state';
import type { Pool } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { keyHash } from '../set-aside/set-aside-row.js';
import { storedText } from '../writing/stored-text.js';

/** The tables that decisions about writes read, each with the columns of its primary key. */
const KEY_COLUMNS = {
  jobs: ['namespace', 'id'],
  namespaces: ['name'],
  node_pools: ['name'],
  scheduler_config: ['id'],
} as const satisfies Partial<Record<TableName, readonly [string] | readonly [string, string]>>;

type DecisionTable = keyof typeof KEY_COLUMNS;

/** The largest number of different schemas of one driver that are compared with a job. */
export const MAX_DRIVER_SCHEMAS = 32;

const DRIVER_SCHEMAS = {
  name: 'driver_schemas',
  text: `
    select distinct d.info ->> 'TaskConfigSchema' as schema
    from nodes n, lateral (select n.body::json #> array['Drivers', $1::text] as info) d
    where position($2 in n.body) > 0 and d.info ->> 'Detected' = 'true' limit $3`,
};

interface PendingRead {
  readonly table: DecisionTable;
  readonly key: readonly string[];
  readonly resolve: (body: object | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const rowsOf = (table: DecisionTable): string => {
  const [first, second] = KEY_COLUMNS[table].map((column) => `r."${column}" collate "C"`);
  const matches = [`${first} = k.first`, ...(second === undefined ? [] : [`${second} = k.second`])];
  return `select k.number, 0 as aside, r.body from k join ${table} r on ${matches.join(' and ')} where k.part = '${table}'`;
};

/** Returns the number of each read that has a row, with the row, and after it the row that was set aside. */
const READ_ROWS = {
  name: 'decision_rows',
  text: `
    with k as (select * from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[])
                        as k (number, part, first, second, key_hash))
    ${(Object.keys(KEY_COLUMNS) as DecisionTable[]).map(rowsOf).join(' union all ')}
    union all
    select k.number, 1 as aside, s.body from k join set_aside s
      on s.part = k.part and s.key_hash collate "C" = k.key_hash where not s.gone`,
};

/**
 * Reads the rows on which a decision about a write depends, even those that PostgreSQL refused to store.
 *
 * Reads that are requested in the same turn of the event loop go to PostgreSQL in one statement, because a registration
 * needs four rows, and on a small machine each further statement takes as long as the first. Modes: idle → collecting →
 * idle. Limit: the requests of one turn. Cost: one round trip for each turn. Errors of the database are thrown on.
 */
export class DecisionReads {
  private pending: PendingRead[] = [];

  constructor(private readonly pool: Pool) {}

  job(namespace: string, id: string): Promise<Job | undefined> {
    return this.find('jobs', namespace, id) as Promise<Job | undefined>;
  }

  namespace(name: string): Promise<Namespace | undefined> {
    return this.find('namespaces', name) as Promise<Namespace | undefined>;
  }

  nodePool(name: string): Promise<NodePool | undefined> {
    return this.find('node_pools', name) as Promise<NodePool | undefined>;
  }

  schedulerConfiguration(): Promise<SchedulerConfiguration | undefined> {
    return this.find('scheduler_config', SINGLETON_KEY) as Promise<SchedulerConfiguration | undefined>;
  }

  /**
   * Returns the different schemas of a driver's configuration that machines have reported, at most MAX_DRIVER_SCHEMAS + 1
   * (PG-47). Undefined stands for machines that have the driver and report none. Cost: O(nodes); it parses the rows of
   * those with a driver of this name.
   */
  async driverSchemas(driver: string): Promise<(string | undefined)[]> {
    const { rows } = await this.pool.query<{ schema: string | null }>({
      ...DRIVER_SCHEMAS,
      values: [storedText(driver), `${JSON.stringify(driver)}:{`, MAX_DRIVER_SCHEMAS + 1],
    });
    return rows.map(({ schema }) => schema ?? undefined);
  }

  private find(table: DecisionTable, ...key: readonly string[]): Promise<object | undefined> {
    return new Promise((resolve, reject) => {
      this.pending.push({ table, key: key.map(storedText), resolve, reject });
      if (this.pending.length === 1) queueMicrotask(() => void this.readPending());
    });
  }

  private async readPending(): Promise<void> {
    const reads = this.pending;
    this.pending = [];
    try {
      const { rows } = await this.pool.query<{ number: number; aside: number; body: object }>({
        ...READ_ROWS,
        values: [
          reads.map((_, number) => number),
          reads.map(({ table }) => table),
          reads.map(({ key }) => key[0]),
          reads.map(({ key }) => key[1] ?? ''),
          reads.map(({ key }) => keyHash(key)),
        ],
        types: columnTypes,
      });
      const bodies = new Map<number, object>();
      for (const { number, aside, body } of rows) if (aside === 0 || !bodies.has(number)) bodies.set(number, body);
      for (const [number, { resolve }] of reads.entries()) resolve(bodies.get(number));
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}
