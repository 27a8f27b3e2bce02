import type { Allocation, Job } from '@waybill/model';
import type { TableName } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { AllocJobsRead } from './alloc-jobs.js';
import { columnTypes } from '../database/column-types.js';
import {
  ALLOCATIONS,
  bodiesOf,
  Conditions,
  type FindStatement,
  findStatement,
  type ListQuery,
  listStatement,
} from './list-query.js';
import { byCreation, type ListOrder, type Page } from './page.js';
import { findSetAside } from '../set-aside/find-set-aside.js';
import { parseStored, plainText, storedText } from '../writing/stored-text.js';
import { inTransaction } from '../database/transaction.js';

/** Rows per statement for a list with a filter. */
export const FILTER_SCAN_ROWS = 500;

/** One object or none, with the index of the response (ST-29). */
export interface Found<Row> {
  /** At least 1. */
  readonly index: number;
  readonly row: Row | undefined;
}

/** A list with the index of the response (ST-29). */
export interface Listed<Row> {
  /** At least 1. */
  readonly index: number;
  readonly rows: readonly Row[];
  /** Token of the next page. Empty on the last page (API-63). */
  readonly nextToken: string;
}

/** Options of every list. */
export interface ListOptions<Row> extends Page {
  /** Prefix of the ID as typed. UUIDs are compared in lower case. */
  readonly prefix?: string | undefined;
  /** Rows for which it returns false are left out, and pages are full nevertheless (API-62, API-67). */
  readonly keep?: ((row: Row) => boolean) | undefined;
}

/** A row of a list's statement. The row with the index alone has no `found`. */
export interface ListedRaw {
  readonly table_index: number;
  readonly found: true | null;
}

/** A cache of processed rows, so that a list need not read and process them again. */
export interface KeptRows<Row, Made> {
  /** Returns the result for this row at this index, or undefined if the row must be read. */
  get(id: string, modifyIndex: number): Made | undefined;
  make(row: Row): Made;
}

type Body<Row> = ListedRaw & { readonly body: Row };

interface AllocColumns {
  readonly body: Allocation;
  readonly job_key: string;
  readonly job: string | null;
}

const FIND_ALLOCATION = findStatement('allocs', ['id'], ALLOCATIONS);

/**
 * Finds and lists rows of the projected tables. Each response has its index, from the same statement or repeatable-read
 * transaction (ST-140). Stateless. Cost: the content of the response; for a list with a filter also the rejected rows.
 */
export class RowReads {
  constructor(private readonly pool: Pool) {}

  /** Finds a row. Index: the row's, or the table's if there is none. @throws SetAsideError */
  find<Row extends { ModifyIndex: number }>(
    statement: FindStatement,
    key: readonly (string | number)[],
  ): Promise<Found<Row>> {
    return this.findAs(statement, key, bodyOf<Row>, (row) => row.ModifyIndex);
  }

  /** @param indexOf returns the index of a response with this row @throws SetAsideError */
  async findAs<Row, Raw extends { readonly body: object }>(
    { table, ...statement }: FindStatement,
    key: readonly (string | number)[],
    rowOf: (raw: Raw) => Row,
    indexOf: (row: Row, tableIndex: number) => number,
  ): Promise<Found<Row>> {
    const values = key.map(asColumn);
    const { rows } = await this.pool.query<{ table_index: number } & (Raw | { readonly body: null })>({
      ...statement,
      values,
      types: columnTypes,
    });
    const raw = rows[0];
    const tableIndex = raw?.table_index ?? 0;
    if (!raw?.body) {
      const aside = await findSetAside(this.pool, table, values);
      if (aside) throw aside.error;
      return { index: tableIndex, row: undefined };
    }
    const row = rowOf(raw);
    return { index: indexOf(row, tableIndex), row };
  }

  /** @throws SetAsideError also if only its job was set aside */
  async allocation(id: string): Promise<Found<Allocation>> {
    let jobKey = '';
    const complete = withJobs();
    const rowOf = (raw: AllocColumns): Allocation => {
      jobKey = raw.job_key;
      return complete(raw);
    };
    const found = await this.findAs<Allocation, AllocColumns>(FIND_ALLOCATION, [id], rowOf, (row) => row.ModifyIndex);
    const { row } = found;
    if (row?.Job === null && jobKey !== '') {
      const aside = await findSetAside(this.pool, 'alloc_job', [row.Namespace, row.JobID, jobKey]);
      if (aside) throw aside.error;
    }
    return found;
  }

  allocations(
    conditions: () => Conditions,
    order: ListOrder<Allocation> = byCreation(),
    page: Page = {},
    keep?: (row: Allocation) => boolean,
  ): Promise<Listed<Allocation>> {
    const query = { ...ALLOCATIONS, indexOf: ['allocs'] as const, conditions, order, page };
    return this.listAs<Allocation, ListedRaw & AllocColumns>(query, withJobs(), keep);
  }

  /** Lists allocations and reads only those that the cache lacks. Cost of the others: their keys. */
  async allocationsKept<Made>(
    conditions: () => Conditions,
    order: ListOrder<AllocKey>,
    page: Page,
    kept: KeptRows<Allocation, Made>,
  ): Promise<Listed<Made>> {
    const keys = { select: KEYS, from: 'allocs r', indexOf: ['allocs'] as const, conditions, order, page };
    return await inTransaction(this.pool, 'snapshot', async (client) => {
      const chunk = await readChunk(client, keys, firstOf(page), keyOf);
      const listed = pageOf(keys, chunk.index, chunk.rows);
      const made = listed.rows.map(({ ID, ModifyIndex }) => kept.get(ID, ModifyIndex));
      const missing = listed.rows.filter((_, at) => made[at] === undefined).map(({ ID }) => ID);
      const fresh = await readMade(client, missing, kept);
      const rows = listed.rows.flatMap(({ ID }, at) => made[at] ?? fresh.get(ID) ?? []);
      return { ...listed, rows };
    });
  }

  list<Row>(query: ListQuery<Row>, keep?: (row: Row) => boolean): Promise<Listed<Row>> {
    return this.listAs<Row, Body<Row>>(query, bodyOf<Row>, keep);
  }

  async listAs<Row, Raw extends ListedRaw>(
    query: ListQuery<Row>,
    rowOf: (raw: Raw) => Row,
    keep?: (row: Row) => boolean,
  ): Promise<Listed<Row>> {
    const perPage = query.page.perPage ?? 0;
    if (keep === undefined || perPage === 0) {
      const chunk = await readChunk(this.pool, query, firstOf(query.page), rowOf);
      return pageOf(query, chunk.index, keep ? chunk.rows.filter(keep) : chunk.rows);
    }
    return await inTransaction(this.pool, 'snapshot', async (client) => {
      const kept: Row[] = [];
      let start = query.page.nextToken ?? '';
      for (;;) {
        const chunk = await readChunk(client, query, { start, limit: FILTER_SCAN_ROWS + 1 }, rowOf);
        const next = chunk.rows[FILTER_SCAN_ROWS];
        for (const item of chunk.rows.slice(0, FILTER_SCAN_ROWS).filter(keep)) kept.push(item);
        if (next === undefined || kept.length > perPage) return pageOf(query, chunk.index, kept);
        start = query.order.tokenOf(next);
      }
    });
  }
}

/** Builds a list of the rows of one table. */
export function listOf<Row>(
  table: TableName,
  conditions: () => Conditions,
  order: ListOrder<Row>,
  page: Page = {},
): ListQuery<Row> {
  return { ...bodiesOf(table), indexOf: [table], conditions, order, page };
}

const asColumn = (part: string | number): string | number => (typeof part === 'string' ? storedText(part) : part);

/** The members of an allocation for orders, and its last change. */
type AllocKey = Pick<Allocation, 'ID' | 'CreateIndex' | 'ModifyIndex'>;

const KEYS = 'r.id, r.create_index, r.modify_index';

interface KeyColumns extends ListedRaw {
  readonly id: string;
  readonly create_index: number;
  readonly modify_index: number;
}

const keyOf = ({ id, create_index, modify_index }: KeyColumns): AllocKey => ({
  ID: plainText(id),
  CreateIndex: create_index,
  ModifyIndex: modify_index,
});

async function readMade<Made>(
  client: PoolClient,
  ids: readonly string[],
  kept: KeptRows<Allocation, Made>,
): Promise<Map<string, Made>> {
  if (ids.length === 0) return new Map();
  const conditions = (): Conditions => {
    const chosen = new Conditions();
    return chosen.where(`r.id = any(${chosen.value(ids)})`);
  };
  const whole = { ...ALLOCATIONS, indexOf: ['allocs'] as const, conditions, order: byCreation<Allocation>(), page: {} };
  const { rows } = await readChunk<Allocation, ListedRaw & AllocColumns>(
    client,
    whole,
    { start: '', limit: 0 },
    withJobs(),
  );
  return new Map(rows.map((row) => [row.ID, kept.make(row)]));
}

const bodyOf = <Row>({ body }: { readonly body: Row }): Row => body;

/** A part of a list. */
interface Chunk {
  /** Token of its first row. Empty for the beginning. */
  readonly start: string;
  /** Most rows. 0 for all. */
  readonly limit: number;
}

/** Returns the rows of a page and one more, if there is one. */
const firstOf = ({ nextToken = '', perPage = 0 }: Page): Chunk => ({
  start: nextToken,
  limit: perPage > 0 ? perPage + 1 : 0,
});

async function readChunk<Row, Raw extends ListedRaw>(
  on: Pool | PoolClient,
  query: ListQuery<Row>,
  { start, limit }: Chunk,
  rowOf: (raw: Raw) => Row,
): Promise<{ index: number; rows: Row[] }> {
  const { text, values } = listStatement(query, start, limit);
  const { rows } = await on.query<Raw>({ text, values: [...values], types: columnTypes });
  const index = rows[0]?.table_index ?? 0;
  return { index, rows: rows.filter((raw) => raw.found === true).map(rowOf) };
}

function pageOf<Row>(query: ListQuery<Row>, index: number, rows: readonly Row[]): Listed<Row> {
  const perPage = query.page.perPage ?? 0;
  const next = perPage > 0 ? rows[perPage] : undefined;
  if (next === undefined) return { index, rows, nextToken: '' };
  return { index, rows: rows.slice(0, perPage), nextToken: query.order.tokenOf(next, rows[perPage - 1]) };
}

/** Adds jobs to the allocations of a response. Equal jobs share one object. */
function withJobs(): (raw: AllocColumns) => Allocation {
  const jobs = new AllocJobsRead();
  return ({ body, job_key: key, job }) =>
    jobs.complete(body, key, () => (job === null ? null : (parseStored(job) as Job)));
}
