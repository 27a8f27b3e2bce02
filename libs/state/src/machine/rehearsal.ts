import type { TxnPayloads } from '../log/catalogue.js';
import { registerJob } from '../jobs/job-register.js';
import type { Tables } from './tables.js';
import { Write } from './write.js';

/** The state that a rehearsal starts from. */
export interface Stage {
  readonly tables: Tables;
  readonly appliedIndex: number;
}

/**
 * Applies a registration for the moment in which `look` runs (ST-145): registers the job in the tables, calls `look`,
 * and reverts everything before any other code of this process runs. Nothing is published, and no index moves. `look`
 * must be synchronous. Cost: twice that of applying it, without a copy of the state.
 * @param timeNs unix ns
 * @throws Refusal as the transaction would, and any error of `look`
 */
export function rehearseRegistration<Seen>(
  { tables, appliedIndex }: Stage,
  registration: TxnPayloads['JobRegister'],
  timeNs: number,
  look: (index: number) => Seen,
): Seen {
  const write = new Write(tables, appliedIndex + 1, timeNs);
  try {
    registerJob(write, registration);
    return look(write.index);
  } finally {
    write.rollback();
  }
}
