/** Which part of a list: the numbers and texts of the request, checked by nobody yet but for their type. */
export interface Page {
  /** Rows wanted; 0 or absent: all (API-62). */
  readonly perPage?: number | undefined;
  /** From an earlier answer; "" or absent: the beginning. */
  readonly nextToken?: string | undefined;
  /** From the end (API-66). */
  readonly reverse?: boolean | undefined;
}

/** The order of a list, and how its tokens say where to go on (API-64, API-65). */
export interface ListOrder<Row> {
  readonly columns: readonly string[];
  /** Names the first row not returned; `before`: the last one that was, when the token ends a page. */
  readonly tokenOf: (row: Row, before?: Row) => string;
  /** Values of `columns` that the token names, or of the first of them; undefined: it is no token of this list. */
  readonly parse: (token: string) => readonly (string | number)[] | undefined;
}

/** Evaluations, allocations, deployments: `<CreateIndex>.<ID>`. */
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

/** Prefix searches by id, and nodes: `<ID>`. */
export function byId<Row extends { ID: string }>(): ListOrder<Row> {
  return { columns: ['id'], tokenOf: (row) => row.ID, parse: (token) => [token] };
}

/** Pools and namespaces: `<Name>`. */
export function byName<Row extends { Name: string }>(): ListOrder<Row> {
  return { columns: ['name'], tokenOf: (row) => row.Name, parse: (token) => [token] };
}

/** Jobs: `<namespace>.<ID>`. A namespace never contains a dot, an id may. */
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

/** The smallest text above all that begin with `prefix`, in code point order; undefined: there is none. */
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
