import {
  type AllocNetworkStatus,
  type Allocation,
  type ClientAllocUpdate,
  type Job,
  type TaskGroup,
  errorText,
} from '@waybill/model';
import type { AllocRecord } from './records/allocation-record.js';
import { withEnds } from './allocation-status.js';

/** AG-47: this agent can make nothing of an allocation. */
export class AllocNotRunnableError extends Error {
  override readonly name = 'AllocNotRunnableError';
}

/** @throws AllocNotRunnableError */
export function jobOf(alloc: Allocation): Job {
  if (!alloc.Job) throw new AllocNotRunnableError('the allocation came without its job');
  return alloc.Job;
}

/** A health that was set already (AG-122). */
export function healthOf({ DeploymentStatus }: Allocation): AllocRecord['health'] {
  if (!DeploymentStatus || DeploymentStatus.Healthy === null) return null;
  return { Healthy: DeploymentStatus.Healthy, Timestamp: DeploymentStatus.Timestamp };
}

/** AG-297: how its tasks find names; what the network of the group says, which has no interface of its own here. */
export function networkStatusOf({ NetworkStatus }: Allocation, { Networks }: TaskGroup): AllocNetworkStatus | null {
  const DNS = Networks?.[0]?.DNS;
  return DNS ? { InterfaceName: '', Address: '', AddressIPv6: '', ...NetworkStatus, DNS } : NetworkStatus;
}

/** AG-47: what the servers are told of an allocation that this agent can make nothing of. */
export function notRunnable(alloc: Allocation, error: unknown, now: string): ClientAllocUpdate {
  return {
    ID: alloc.ID,
    NodeID: alloc.NodeID,
    ClientStatus: 'failed',
    ClientDescription: `Unable to add allocation due to error: ${errorText(error)}`,
    TaskStates: withEnds(alloc.TaskStates, 'failed', now),
    DeploymentStatus: healthOf(alloc) ?? { Healthy: false, Timestamp: now },
    NetworkStatus: alloc.NetworkStatus,
    ModifyTime: 0,
  };
}
