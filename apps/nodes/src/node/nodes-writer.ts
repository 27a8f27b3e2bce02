import type { Clock } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { TransactionWriter } from '@waybill/writing';
import { catchUp } from '../allocations/catch-up.js';

/** Writes to the log and hears the verdict from this process's own copy of the state. Any replica may. */
export const nodesWriter = (
  state: ReplicatedState,
  deps: { readonly clock: Clock; readonly newId: () => string; readonly region: string },
): TransactionWriter => new TransactionWriter({ ...deps, log: state, caughtUp: (index) => catchUp(state, index) });
