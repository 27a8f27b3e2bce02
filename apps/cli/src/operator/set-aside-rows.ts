import type { Call } from '../command-spec.js';
import { failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** Response of `/v1/operator/projection`. */
export interface ProjectionStanding {
  /** Index up to which PostgreSQL has followed the log. */
  readonly Index: number;
  readonly Count: number;
  /** The oldest refused rows. */
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

/** Lists the rows that are set aside, one per line. */
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
