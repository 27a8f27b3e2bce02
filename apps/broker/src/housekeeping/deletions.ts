import { LOOK_AT_VOLUME, Refusal } from '@waybill/model';
import {
  MAX_REAPED_IDS,
  MAX_REAPED_JOBS,
  MAX_REAPED_ROOT_KEYS,
  MAX_REAPED_TOKENS,
  MAX_REAPED_VOLUMES,
  type Reap,
} from '@waybill/rpc';
import type { TxnPayloads } from '@waybill/state';

type DeletionType =
  | 'EvalDelete'
  | 'JobBatchDeregister'
  | 'DeploymentDelete'
  | 'NodeBatchDeregister'
  | 'ACLTokenDelete'
  | 'OneTimeTokenExpire'
  | 'RootKeyDelete'
  | 'CSIPluginDelete'
  | 'CSIVolumeClaim';

/** A transaction that deletes objects which a core evaluation found. */
export type Deletion = {
  [T in DeletionType]: {
    readonly type: T;
    readonly payload: TxnPayloads[T];
    /** The namespace of the deleted objects; "" if they have none, or several. */
    readonly namespace: string;
  };
}[DeletionType];

/**
 * The transactions that delete the objects of a request: one for all, but one for each root key, plugin and volume, so that
 * an object that is in use or gone prevents no other deletion (GC-68, GC-72).
 * @param scanIndex index of the state in which the objects were found
 * @throws Refusal if the request has more objects than one may have
 */
export function deletionsOf(reap: Reap, scanIndex: number): Deletion[] {
  const namespace = '';
  const ScanIndex = scanIndex;
  switch (reap.Kind) {
    case 'evaluations': {
      const { EvalIDs, AllocIDs } = reap;
      atMost(MAX_REAPED_IDS, EvalIDs.length + AllocIDs.length, 'evaluations and allocations');
      const payload = { EvalIDs: [...EvalIDs], AllocIDs: [...AllocIDs], ScanIndex, UserInitiated: false };
      return [{ type: 'EvalDelete', payload, namespace }];
    }
    case 'jobs':
      atMost(MAX_REAPED_JOBS, reap.Jobs.length, 'jobs');
      return [{ type: 'JobBatchDeregister', payload: { Jobs: [...reap.Jobs], ScanIndex }, namespace }];
    case 'deployments':
      atMost(MAX_REAPED_IDS, reap.DeploymentIDs.length, 'deployments');
      return [{ type: 'DeploymentDelete', payload: { DeploymentIDs: [...reap.DeploymentIDs], ScanIndex }, namespace }];
    case 'nodes':
      atMost(MAX_REAPED_IDS, reap.NodeIDs.length, 'nodes');
      return [{ type: 'NodeBatchDeregister', payload: { NodeIDs: [...reap.NodeIDs], ScanIndex }, namespace }];
    case 'tokens': {
      atMost(MAX_REAPED_TOKENS, reap.AccessorIDs.length, 'tokens');
      const payload = { AccessorIDs: [...reap.AccessorIDs], ExpiredBy: reap.ExpiredBy };
      return [{ type: 'ACLTokenDelete', payload, namespace }];
    }
    case 'one-time-tokens':
      return [{ type: 'OneTimeTokenExpire', payload: { Timestamp: reap.ExpiredByNs }, namespace }];
    case 'root-keys':
      atMost(MAX_REAPED_ROOT_KEYS, reap.KeyIDs.length, 'root keys');
      return reap.KeyIDs.map((KeyID) => ({ type: 'RootKeyDelete', payload: { KeyID, Force: false }, namespace }));
    case 'plugins':
      atMost(MAX_REAPED_VOLUMES, reap.PluginIDs.length, 'plugins');
      return reap.PluginIDs.map((ID) => ({ type: 'CSIPluginDelete', payload: { ID }, namespace }));
    case 'volume-claims':
      atMost(MAX_REAPED_VOLUMES, reap.Volumes.length, 'volumes');
      return reap.Volumes.map(({ Namespace, ID }) => ({
        type: 'CSIVolumeClaim',
        payload: { VolumeID: ID, Claim: LOOK_AT_VOLUME },
        namespace: Namespace,
      }));
  }
}

function atMost(limit: number, count: number, what: string): void {
  if (count > limit) throw new Refusal('invalid', `a request removes at most ${limit} ${what}`);
}
