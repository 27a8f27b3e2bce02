import type { ProjectionDigests } from './rebuilt-projection.store.js';

/** Of one table, in the running projection and in the rebuilt one. */
export interface RebuiltTable {
  readonly table: string;
  readonly rows: number;
  readonly rebuiltRows: number;
  readonly equal: boolean;
}

export interface ProjectionReport {
  readonly ok: boolean;
  readonly index: number;
  readonly historyFloor: number;
  readonly tables: readonly RebuiltTable[];
  /** Rows that Postgres refused to store in the running projection: in their tables they are missing. */
  readonly setAside: number;
}

/** Every table of two projections that are at the same index. */
export function compareProjections(running: ProjectionDigests, rebuilt: ProjectionDigests): ProjectionReport {
  const tables = [...running.tables].map(([table, { rows, digest }]) => {
    const other = rebuilt.tables.get(table);
    return { table, rows, rebuiltRows: other?.rows ?? 0, equal: other?.digest === digest };
  });
  const ok = running.index === rebuilt.index && tables.every(({ equal }) => equal);
  return { ok, index: running.index, historyFloor: running.historyFloor, tables, setAside: running.setAside };
}
