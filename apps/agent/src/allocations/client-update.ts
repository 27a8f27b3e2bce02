import {
  type Allocation,
  type AllocNetworkStatus,
  type ClientAllocUpdate,
  errorText,
  type TaskGroup,
} from '@waybill/model';
import { withEnds } from './client-status.js';
import type { AllocationRecord } from './records/allocation-record.js';

/** A health that was set already (AG-122). */
export function healthOf({ DeploymentStatus }: Allocation): AllocationRecord['health'] {
  if (!DeploymentStatus || DeploymentStatus.Healthy === null) return null;
  return { Healthy: DeploymentStatus.Healthy, Timestamp: DeploymentStatus.Timestamp };
}

/** How its tasks find names, as the network of the group says, which has no interface of its own here (AG-297). */
export function networkStatusOf({ NetworkStatus }: Allocation, { Networks }: TaskGroup): AllocNetworkStatus | null {
  const DNS = Networks?.[0]?.DNS;
  return DNS ? { InterfaceName: '', Address: '', AddressIPv6: '', ...NetworkStatus, DNS } : NetworkStatus;
}

/** What the servers are told of an allocation that this agent cannot run (AG-47). */
export function rejectedUpdate(alloc: Allocation, error: unknown, now: string): ClientAllocUpdate {
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
