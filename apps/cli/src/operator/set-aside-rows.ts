import type { Call } from '../command-spec.js';
import { failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** What `/v1/operator/projection` answers. */
export interface ProjectionStanding {
  /** How far PostgreSQL has followed the log. */
  readonly Index: number;
  readonly Count: number;
  /** Oldest first; the first of them, if there are many. */
  readonly SetAside: readonly {
    readonly Part: string;
    readonly Object: string;
    readonly Index: number;
    readonly Name: string;
    readonly SQLState: string;
    readonly Error: string;
  }[];
}

export const PROJECTION_PATH = '/v1/operator/projection';

export async function readStanding(api: Call['api']): Promise<ProjectionStanding> {
  const { value } = await api.get<ProjectionStanding>(PROJECTION_PATH).catch((error: unknown) => {
    throw failed('reading the projection', error);
  });
  return value;
}

/** A line for each row that is set aside. */
export function setAsideTable({ Count, SetAside }: ProjectionStanding): string {
  const rows = SetAside.map((row) => [
    String(row.Index),
    row.Name,
    row.Part,
    row.Object,
    row.SQLState === '' ? row.Error : `${row.SQLState}: ${row.Error}`,
  ]);
  const shown = table([['Index', 'Transaction', 'Table', 'Object', 'Error'], ...rows]);
  return Count > SetAside.length ? `${shown}\n… and ${Count - SetAside.length} more` : shown;
}
