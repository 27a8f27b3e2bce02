import type { Clock } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { TransactionWriter } from '@waybill/writing';
import { catchUp } from '../allocations/catch-up.js';

/** A writer that hears verdicts from this process' own copy of the state. Any replica may write. */
export const nodesWriter = (
  state: ReplicatedState,
  deps: { readonly clock: Clock; readonly newId: () => string; readonly region: string },
): TransactionWriter => new TransactionWriter({ ...deps, log: state, caughtUp: (index) => catchUp(state, index) });
