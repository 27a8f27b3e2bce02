import type { TableName } from '@waybill/state';
import type { ListOrder, Page } from './page.js';
import { afterPrefix } from './page.js';
import type { NamedStatement } from './statements.js';
import { storedText } from './stored-text.js';

/** The namespaces a list is for; `*`: all of them. */
export type Namespaces = '*' | readonly string[];

/** SQL conditions on the row `r`, and the values they compare with. */
export class Conditions {
  private readonly parts: string[] = [];
  readonly values: unknown[] = [];

  /** The placeholder of one more value. */
  value(value: unknown): string {
    this.values.push(typeof value === 'string' ? storedText(value) : value);
    return `$${this.values.length}`;
  }

  equal(column: string, value: string | number): this {
    this.parts.push(`r."${column}" = ${this.value(value)}`);
    return this;
  }

  where(sql: string): this {
    this.parts.push(sql);
    return this;
  }

  in(namespaces: Namespaces, column = 'namespace'): this {
    if (namespaces !== '*') this.parts.push(`r."${column}" = any(${this.value(namespaces.map(storedText))})`);
    return this;
  }

  startsWith(column: string, prefix: string): this {
    if (prefix === '') return this;
    const stored = storedText(prefix);
    this.parts.push(`r."${column}" >= ${this.value(stored)}`);
    const end = afterPrefix(stored);
    if (end !== undefined) this.parts.push(`r."${column}" < ${this.value(end)}`);
    return this;
  }

  /** This row and those behind it in the order. */
  from(columns: readonly string[], values: readonly (string | number)[], reverse: boolean): this {
    const left = columns.map((column) => `r."${column}"`).join(', ');
    const right = values.map((value) => this.value(value)).join(', ');
    this.parts.push(`(${left}) ${reverse ? '<=' : '>='} (${right})`);
    return this;
  }

  get sql(): string {
    return this.parts.length === 0 ? '' : `where ${this.parts.join(' and ')}`;
  }
}

/** What is read: columns of `r`, the table it stands for, and what is joined to that. */
export interface RowSource {
  readonly select: string;
  readonly from: string;
}

export interface ListQuery<Row> extends RowSource {
  /** Tables whose index the answer carries (ST-29). */
  readonly indexOf: readonly TableName[];
  readonly conditions: () => Conditions;
  readonly order: ListOrder<Row>;
  readonly page: Page;
}

/**
 * One statement for rows and index: both are of one moment. An empty list still gives one row, with the index.
 * `limit` 0: no limit.
 */
export function listStatement<Row>(
  query: ListQuery<Row>,
  start: string,
  limit: number,
): { readonly text: string; readonly values: readonly unknown[] } {
  const conditions = query.conditions();
  const reverse = query.page.reverse === true;
  const { columns, parse } = query.order;
  const from = start === '' ? undefined : parse(start);
  if (from) conditions.from(columns, from, reverse);
  const names = conditions.value([...query.indexOf]);
  const direction = reverse ? ' desc' : '';
  const order = columns.map((column) => `r."${column}"${direction}`).join(', ');
  const text = `
    select i.index as table_index, l.* from
      (select coalesce(max(index), 0) as index from table_index where name = any(${names})) i
      left join lateral (
        select true as found, ${query.select} from ${query.from} ${conditions.sql}
        order by ${order} ${limit > 0 ? `limit ${Math.trunc(limit)}` : ''}) l on true`;
  return { text, values: conditions.values };
}

export const bodiesOf = (table: TableName): RowSource => ({ select: 'r.body', from: `"${table}" r` });

/** The job as text: it is the same for many allocations, and parsed once. */
export const ALLOCATIONS: RowSource = {
  select: 'r.body, r.job_key, j.body::text as job',
  from: `allocs r left join alloc_job j on j.namespace = r.namespace and j.job_id = r.job_id and j.key = r.job_key`,
};

/** A single row of one table by its key, with the index of the table, in one statement. */
export function findStatement(
  table: TableName,
  key: readonly string[],
  { select, from }: RowSource = bodiesOf(table),
): NamedStatement {
  const where = key.map((column, at) => `r."${column}" = $${at + 1}`).join(' and ');
  return {
    name: `find_${table}_${key.join('_')}`,
    text: `
      select i.index as table_index, l.* from
        (select coalesce(max(index), 0) as index from table_index where name = '${table}') i
        left join lateral (select ${select} from ${from} where ${where}) l on true`,
  };
}
