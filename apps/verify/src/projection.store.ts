import { loadSnapshot, openPool } from '@waybill/projection';
import { StateMachine } from '@waybill/state';

/** The state as Postgres has it. @throws NotMigratedError, and what the database fails with */
export async function readProjection(databaseUrl: string): Promise<StateMachine> {
  const pool = openPool(databaseUrl, { size: 1, applicationName: 'waybill verify', answerTimeoutMs: 0 });
  try {
    const machine = new StateMachine();
    await loadSnapshot(pool, machine);
    return machine;
  } finally {
    await pool.end();
  }
}
