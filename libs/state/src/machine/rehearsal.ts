import type { TxnPayloads } from '../log/catalogue.js';
import { registerJob } from '../jobs/job-register.js';
import type { Tables } from './tables.js';
import { Write } from './write.js';

/** The state a rehearsal begins with. */
export interface Stage {
  readonly tables: Tables;
  readonly appliedIndex: number;
}

/**
 * What the state would be if this were the next transaction (ST-145): registers the job in the tables, lets `look` look,
 * and takes everything back before anything else of this process runs, so that nobody ever sees it. Nothing is
 * published, no index moves. `look` must be synchronous. Cost: as applying it, twice, and no copy of the state.
 * @param timeNs unix ns
 * @throws Refusal as the transaction would be; what `look` throws
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
