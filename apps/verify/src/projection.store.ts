import { loadSnapshot, openPool, SetAsideRows } from '@waybill/projection';
import { StateMachine } from '@waybill/state';

/** What Postgres has of the state. */
export interface ProjectedState {
  readonly machine: StateMachine;
  /** How many rows of it are set aside. */
  readonly setAside: number;
}

/** The state as Postgres has it. @throws NotMigratedError, and what the database fails with */
export async function readProjection(databaseUrl: string): Promise<ProjectedState> {
  const pool = openPool(databaseUrl, { size: 1, applicationName: 'waybill verify', answerTimeoutMs: 0 });
  try {
    const machine = new StateMachine();
    await loadSnapshot(pool, machine);
    return { machine, setAside: await new SetAsideRows(pool).count() };
  } finally {
    await pool.end();
  }
}
