/** Part of a list: numbers and texts of the request, of which only the types were checked. */
export interface Page {
  /** Number of rows. 0 or absent for all (API-62). */
  readonly perPage?: number | undefined;
  /** Token of an earlier response. Empty or absent for the beginning. */
  readonly nextToken?: string | undefined;
  /** Read from the end (API-66). */
  readonly reverse?: boolean | undefined;
}

/** The order of a list, and the format of its tokens (API-64, API-65). */
export interface ListOrder<Row> {
  readonly columns: readonly string[];
  /**
   * Returns the token for the first row that was not returned. `before` is the last returned row, if the token ends a
   * page.
   */
  readonly tokenOf: (row: Row, before?: Row) => string;
  /** Parses a token into values of `columns`, or of the first of them. Undefined for an invalid token. */
  readonly parse: (token: string) => readonly (string | number)[] | undefined;
}

/** Order of evaluations, allocations and deployments: `<CreateIndex>.<ID>`. */
export function byCreation<Row extends { CreateIndex: number; ID: string }>(): ListOrder<Row> {
  return {
    columns: ['create_index', 'id'],
    tokenOf: (row) => `${row.CreateIndex}.${row.ID}`,
    parse: (token) => {
      const found = /^(\d{1,15})\.(.*)$/s.exec(token);
      return found?.[1] === undefined ? undefined : [Number(found[1]), found[2] ?? ''];
    },
  };
}

/** Order of prefix searches by ID, and of nodes: `<ID>`. */
export function byId<Row extends { ID: string }>(): ListOrder<Row> {
  return { columns: ['id'], tokenOf: (row) => row.ID, parse: (token) => [token] };
}

/** Order of pools and namespaces: `<Name>`. */
export function byName<Row extends { Name: string }>(): ListOrder<Row> {
  return { columns: ['name'], tokenOf: (row) => row.Name, parse: (token) => [token] };
}

/** Order of jobs: `<namespace>.<ID>`. A namespace never contains a dot, and an ID may. */
export function byNamespaceAndId<Row>(of: (row: Row) => { Namespace: string; ID: string }): ListOrder<Row> {
  return {
    columns: ['namespace', 'id'],
    tokenOf: (row) => `${of(row).Namespace}.${of(row).ID}`,
    parse: (token) => {
      const dot = token.indexOf('.');
      return dot < 0 ? undefined : [token.slice(0, dot), token.slice(dot + 1)];
    },
  };
}

const LAST_CODE_POINT = 0x10ffff;

/** Returns the smallest text above all texts with this prefix, in code point order, or undefined if there is none. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point === LAST_CODE_POINT) continue;
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
  return undefined;
}
