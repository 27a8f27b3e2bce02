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

/** A health that was set already (AG-122). */
export function healthOf({ DeploymentStatus }: Allocation): AllocationRecord['health'] {
  if (!DeploymentStatus || DeploymentStatus.Healthy === null) return null;
  return { Healthy: DeploymentStatus.Healthy, Timestamp: DeploymentStatus.Timestamp };
}

/** The address of its namespace, and how its tasks find names as the network of the group says (AG-297, NW-121). */
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
