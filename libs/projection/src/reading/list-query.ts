import type { TableName } from '@waybill/state';
import type { ListOrder, Page } from './page.js';
import { afterPrefix } from './page.js';
import type { NamedStatement } from '../writing/statements.js';
import { storedText } from '../writing/stored-text.js';

/** The namespaces of a list. `*` stands for all. */
export type Namespaces = '*' | readonly string[];

/** SQL conditions on the row `r`, and their values. */
export class Conditions {
  private readonly parts: string[] = [];
  readonly values: unknown[] = [];

  /** Returns the placeholder for another value. Texts are compared in their stored form, also in lists. */
  value(value: string | number | readonly (string | number)[]): string {
    return this.placeholder(typeof value === 'object' ? value.map(asStored) : asStored(value));
  }

  private placeholder(value: unknown): string {
    this.values.push(value);
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
    if (namespaces !== '*') this.parts.push(`r."${column}" = any(${this.value(namespaces)})`);
    return this;
  }

  startsWith(column: string, prefix: string): this {
    return prefix === '' ? this : this.startsOneWith([column], prefix);
  }

  /** At least one of the columns starts with the prefix. */
  startsOneWith(columns: readonly string[], prefix: string): this {
    const stored = storedText(prefix);
    const from = this.placeholder(stored);
    const end = afterPrefix(stored);
    const to = end === undefined ? undefined : this.placeholder(end);
    const starts = columns.map((column) => {
      const above = `r."${column}" >= ${from}`;
      return to === undefined ? above : `${above} and r."${column}" < ${to}`;
    });
    this.parts.push(`(${starts.join(' or ')})`);
    return this;
  }

  /** This row and all rows after it in the order. */
  from(columns: readonly string[], values: readonly (string | number)[], reverse: boolean): this {
    // A token may contain only the first columns, and then stands for all rows with these values.
    const left = columns
      .slice(0, values.length)
      .map((column) => `r."${column}"`)
      .join(', ');
    const right = values.map((value) => this.value(value)).join(', ');
    this.parts.push(`(${left}) ${reverse ? '<=' : '>='} (${right})`);
    return this;
  }

  get sql(): string {
    return this.parts.length === 0 ? '' : `where ${this.parts.join(' and ')}`;
  }
}

const asStored = (value: string | number): string | number => (typeof value === 'string' ? storedText(value) : value);

/** The source of a list: columns of `r`, its table, and joined tables. */
export interface RowSource {
  readonly select: string;
  readonly from: string;
  /** Further columns, computed from the chosen rows `l` and the rows before them, in order. */
  readonly beside?: string | undefined;
}

export interface ListQuery<Row> extends RowSource {
  /** Tables whose index the response carries (ST-29). */
  readonly indexOf: readonly TableName[];
  readonly conditions: () => Conditions;
  readonly order: ListOrder<Row>;
  readonly page: Page;
}

/**
 * Builds one statement for rows and index, so that both are of one moment. An empty list still has one row with the
 * index. `limit` 0 stands for no limit.
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
    select i.index as table_index, l.*${alongside(query)} from
      (select coalesce(max(index), 0) as index from table_index where name = any(${names})) i
      left join lateral (
        select true as found, ${query.select} from ${query.from} ${conditions.sql}
        order by ${order} ${limit > 0 ? `limit ${Math.trunc(limit)}` : ''}) l on true`;
  return { text, values: conditions.values };
}

export const bodiesOf = (table: TableName): RowSource => ({ select: 'r.body', from: `"${table}" r` });

const alongside = ({ beside }: RowSource): string => (beside === undefined ? '' : `, ${beside}`);

/**
 * Allocations with their job as text in the first of consecutive rows with that job, because thousands of allocations
 * may share one, and it is longer than they are.
 */
export const ALLOCATIONS: RowSource = {
  select: 'r.body, r.job_key, r.namespace, r.job_id',
  from: 'allocs r',
  beside: `case when lag(l.job_key) over () is distinct from l.job_key then
    (select j.body::text from alloc_job j
     where j.namespace = l.namespace and j.job_id = l.job_id and j.key = l.job_key) end as job`,
};

/** Finds a single row of a table by its primary key. */
export interface FindStatement extends NamedStatement {
  readonly table: TableName;
}

/**
 * Builds the statement for a single row by its key, with the index of the table.
 * @param key columns of the primary key, in order
 */
export function findStatement(
  table: TableName,
  key: readonly string[],
  source: RowSource = bodiesOf(table),
): FindStatement {
  const where = key.map((column, at) => `r."${column}" = $${at + 1}`).join(' and ');
  return {
    table,
    name: `find_${table}_${key.join('_')}`,
    text: `
      select i.index as table_index, l.*${alongside(source)} from
        (select coalesce(max(index), 0) as index from table_index where name = '${table}') i
        left join lateral (select ${source.select} from ${source.from} where ${where}) l on true`,
  };
}
