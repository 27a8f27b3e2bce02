import type { TableName, TableRows } from '@waybill/state';
import type { ReferenceState } from '../checks/reference-state.js';

/** Tables whose objects have readers. */
export type ReadTable = Extract<
  TableName,
  | 'jobs'
  | 'allocs'
  | 'evals'
  | 'deployment'
  | 'nodes'
  | 'namespaces'
  | 'service_registrations'
  | 'csi_volumes'
  | 'host_volumes'
  | 'variables'
  | 'acl_policy'
  | 'acl_roles'
  | 'acl_token'
>;

const READ_TABLES: readonly ReadTable[] = [
  'jobs',
  'allocs',
  'evals',
  'deployment',
  'nodes',
  'namespaces',
  'service_registrations',
  'csi_volumes',
  'host_volumes',
  'variables',
  'acl_policy',
  'acl_roles',
  'acl_token',
];

/** Whether an object was there, or something was so, over a stretch of the log. */
export type Existence = 'always' | 'sometimes' | 'never';

/** Something that is so or is not, at every index of the log. It begins with not. */
export class Turns {
  /** Indexes at which it changed. */
  private readonly turns: number[] = [];

  note(index: number, isSo: boolean): void {
    if ((this.turns.length % 2 === 1) !== isSo) this.turns.push(index);
  }

  over(from: number, to: number): Existence {
    if (this.turns.some((index) => index > from && index <= to)) return 'sometimes';
    return this.turns.filter((index) => index <= from).length % 2 === 1 ? 'always' : 'never';
  }
}

interface Known {
  /** As it was last; what it is judged by never changes. */
  row: object;
  readonly isThere: Turns;
}

/** Which objects there were at every index of the log. Memory: the last row of each object that ever was. */
export class ObjectHistory {
  private readonly tables = new Map<TableName, Map<string, Known>>(READ_TABLES.map((table) => [table, new Map()]));

  constructor(reference: ReferenceState) {
    reference.onApplied(({ index, changes }) => {
      for (const { table, key, before, after } of changes) {
        const objects = this.tables.get(table);
        if (!objects) continue;
        const row = after ?? before;
        let known = objects.get(key);
        if (!known && row) objects.set(key, (known = { row, isThere: new Turns() }));
        if (!known) continue;
        if (after) known.row = after;
        known.isThere.note(index, after !== undefined);
      }
    });
  }

  row<Name extends ReadTable>(table: Name, key: string): TableRows[Name] | undefined {
    return this.tables.get(table)?.get(key)?.row as TableRows[Name] | undefined;
  }

  /** All that ever were, those that are gone included. */
  *rows<Name extends ReadTable>(table: Name): Iterable<readonly [key: string, row: TableRows[Name]]> {
    for (const [key, { row }] of this.tables.get(table) ?? []) yield [key, row as TableRows[Name]];
  }

  existence(table: ReadTable, key: string, from: number, to: number): Existence {
    return this.tables.get(table)?.get(key)?.isThere.over(from, to) ?? 'never';
  }
}
