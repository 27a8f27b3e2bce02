import type { Variable } from '@waybill/model';
import { Conditions, findStatement, type Namespaces } from './list-query.js';
import type { ListOrder } from './page.js';
import { type Found, type Listed, listOf, type ListOptions, type RowReads } from './row-reads.js';

export interface VariableListOptions extends ListOptions<Variable> {
  readonly namespaces: Namespaces;
}

const FIND = { variable: findStatement('variables', ['namespace', 'path']) } as const;

/** Order by namespace and path: `<namespace>.<path>` (API-64). Neither contains a dot. */
const byPath: ListOrder<Variable> = {
  columns: ['namespace', 'path'],
  tokenOf: ({ Namespace, Path }) => `${Namespace}.${Path}`,
  parse: (token) => {
    const dot = token.indexOf('.');
    return dot < 0 ? undefined : [token.slice(0, dot), token.slice(dot + 1)];
  },
};

/** Reads of variables as stored: sealed, and with the IDs of their locks. Encode them before they leave the process. */
export class VariableReads {
  constructor(private readonly rows: RowReads) {}

  variable(namespace: string, path: string): Promise<Found<Variable>> {
    return this.rows.find(FIND.variable, [namespace, path]);
  }

  /** Lists variables. `prefix` is one of the path. */
  variables(options: VariableListOptions): Promise<Listed<Variable>> {
    const conditions = (): Conditions =>
      new Conditions().in(options.namespaces).startsWith('path', options.prefix ?? '');
    return this.rows.list(listOf('variables', conditions, byPath, options), options.keep);
  }
}
