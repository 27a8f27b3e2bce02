import {
  type Allocation,
  type AllocNetworkStatus,
  type ClientAllocUpdate,
  errorText,
  type TaskGroup,
} from '@waybill/model';
import type { TaskNetwork } from '../networks/task-network.js';
import { withEnds } from './client-status.js';
import type { AllocationRecord } from './records/allocation-record.js';

/** Returns the health if it was set already, or null (AG-122). */
export function healthOf({ DeploymentStatus }: Allocation): AllocationRecord['health'] {
  if (!DeploymentStatus || DeploymentStatus.Healthy === null) return null;
  return { Healthy: DeploymentStatus.Healthy, Timestamp: DeploymentStatus.Timestamp };
}

/**
 * Returns the network status: the address of the allocation's namespace, and the DNS settings of the group's network
 * (AG-297, NW-121).
 */
export function networkStatusOf(
  { NetworkStatus }: Allocation,
  { Networks }: TaskGroup,
  network: TaskNetwork | null,
): AllocNetworkStatus | null {
  const DNS = Networks?.[0]?.DNS;
  const status = network ? network.status : NetworkStatus;
  if (network?.status) return network.status;
  return DNS ? { InterfaceName: '', Address: '', AddressIPv6: '', ...status, DNS } : status;
}

/** Returns the servers' update for an allocation that this agent cannot run (AG-47). */
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
