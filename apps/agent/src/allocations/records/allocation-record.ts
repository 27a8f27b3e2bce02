import type { KeptToken } from '../../identities/allocation-identities.js';
import type { AllocDeploymentStatus, Allocation, ClientAllocUpdate } from '@waybill/model';
import type { AllocationVolumesRecord } from '../../volumes/csi/allocation-volumes.js';
import type { AllocationServicesRecord } from '../../services/allocation-services.js';
import type { TaskNetwork } from '../../networks/task-network.js';
import type { TaskRecord } from '../../tasks/task-record.js';

/** AllocationRecord is the state of an allocation on disk, one file each (AG-190). */
export interface AllocationRecord {
  readonly version: 1;
  readonly alloc: Allocation;
  readonly tasks: Readonly<Record<string, TaskRecord>>;
  readonly health: Pick<AllocDeploymentStatus, 'Healthy' | 'Timestamp'> | null;
  /** The allocation has exceeded its maximum run duration (AG-77). */
  readonly expired?: boolean;
  /** Absent in records of agents without support for services. */
  readonly services?: AllocationServicesRecord;
  /** Absent in records of agents without support for networks; null if it has no network of its own. */
  readonly network?: TaskNetwork | null;
  /** Absent in records of agents without support for volumes. */
  readonly volumes?: AllocationVolumesRecord;
  /** The tokens of its identities while tasks are alive; absent if it needs none (AU-152). */
  readonly identities?: readonly KeptToken[];
  /** The last state that the servers have confirmed (AG-65). */
  readonly acknowledged: ClientAllocUpdate | null;
}

/** Says whether one of its tasks was ever started, or was about to start. */
export const hasBegun = ({ tasks }: AllocationRecord): boolean =>
  Object.values(tasks).some(({ handle, state }) => handle !== null || state.StartedAt !== null);

/** AllocationRecords stores the records. Files implement it (allocation-record.store.ts). */
export interface AllocationRecords {
  /** Saves a record. Resolves when the record or a newer one of the same allocation is durable. */
  save(record: AllocationRecord): Promise<void>;
  remove(allocId: string): Promise<void>;
  /** Returns all readable records. Unreadable ones are logged and left out (AG-198). */
  load(): Promise<AllocationRecord[]>;
}
