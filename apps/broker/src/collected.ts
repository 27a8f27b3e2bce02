import { MAX_REAPED_IDS, MAX_REAPED_JOBS, type Reap } from '@waybill/rpc';
import type { TxnPayloads } from '@waybill/state';
import { BadRequestError } from './broker-errors.js';

type DeletionType = 'EvalDelete' | 'JobBatchDeregister' | 'DeploymentDelete' | 'NodeBatchDeregister';

/** The transaction that removes what a core evaluation found. */
export type Deletion = {
  [T in DeletionType]: { readonly type: T; readonly payload: TxnPayloads[T] };
}[DeletionType];

/** @param scanIndex of the state that was looked at @throws BadRequestError it is more than one transaction may hold */
export function deletionOf(reap: Reap, scanIndex: number): Deletion {
  const ScanIndex = scanIndex;
  switch (reap.Kind) {
    case 'evaluations': {
      const { EvalIDs, AllocIDs } = reap;
      atMost(MAX_REAPED_IDS, EvalIDs.length + AllocIDs.length, 'evaluations and allocations');
      const payload = { EvalIDs: [...EvalIDs], AllocIDs: [...AllocIDs], ScanIndex, UserInitiated: false };
      return { type: 'EvalDelete', payload };
    }
    case 'jobs':
      atMost(MAX_REAPED_JOBS, reap.Jobs.length, 'jobs');
      return { type: 'JobBatchDeregister', payload: { Jobs: [...reap.Jobs], ScanIndex } };
    case 'deployments':
      atMost(MAX_REAPED_IDS, reap.DeploymentIDs.length, 'deployments');
      return { type: 'DeploymentDelete', payload: { DeploymentIDs: [...reap.DeploymentIDs], ScanIndex } };
    case 'nodes':
      atMost(MAX_REAPED_IDS, reap.NodeIDs.length, 'nodes');
      return { type: 'NodeBatchDeregister', payload: { NodeIDs: [...reap.NodeIDs], ScanIndex } };
  }
}

function atMost(limit: number, count: number, what: string): void {
  if (count > limit) throw new BadRequestError(`a request removes at most ${limit} ${what}`);
}
