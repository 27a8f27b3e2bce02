import type { Clock } from '@waybill/model';
import { draftTxn, serviceActor } from '@waybill/state';
import { ConflictError } from './errors.js';
import type { Journal } from './journal.js';

export interface InitialiseOptions {
  readonly region: string;
  readonly clock: Clock;
  readonly newId: () => string;
}

/**
 * Ensures that the log begins with the initialisation transaction. It is written on the condition that the log is
 * empty: of several services that start at once one writes it, and in an existing log none does (ST-2).
 * @returns true if this call wrote it
 * @throws LogUnavailableError
 */
export async function initialise(journal: Journal, options: InitialiseOptions): Promise<boolean> {
  if ((await journal.bounds()).last > 0) return false;
  const draft = draftTxn(
    'Initialise',
    {},
    {
      timeNs: options.clock.nowMs() * 1e6,
      requestId: options.newId(),
      actor: serviceActor('waybill'),
      region: options.region,
    },
  );
  try {
    return !(await journal.publishFirst(draft)).duplicate;
  } catch (e) {
    if (e instanceof ConflictError) return false;
    throw e;
  }
}
