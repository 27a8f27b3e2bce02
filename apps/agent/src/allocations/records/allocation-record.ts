import type { KeptToken } from '../../identities/allocation-identities.js';
import type { AllocDeploymentStatus, Allocation, ClientAllocUpdate } from '@waybill/model';
import type { AllocationVolumesRecord } from '../../volumes/csi/allocation-volumes.js';
import type { AllocationServicesRecord } from '../../services/allocation-services.js';
import type { TaskNetwork } from '../../networks/task-network.js';
import type { TaskRecord } from '../../tasks/task-record.js';

/** What is kept of an allocation on disk, one file each (AG-190). */
export interface AllocationRecord {
  readonly version: 1;
  readonly alloc: Allocation;
  readonly tasks: Readonly<Record<string, TaskRecord>>;
  readonly health: Pick<AllocDeploymentStatus, 'Healthy' | 'Timestamp'> | null;
  /** The allocation has exceeded its maximum run duration (AG-77). */
  readonly expired?: boolean;
  /** Absent: an agent wrote it that knew no services. */
  readonly services?: AllocationServicesRecord;
  /** Absent: an agent wrote it that knew no networks; null: it has none of its own. */
  readonly network?: TaskNetwork | null;
  /** Absent: an agent wrote it that knew no volumes. */
  readonly volumes?: AllocationVolumesRecord;
  /** Tokens of its identities, while tasks live; absent: it needs none (AU-152). */
  readonly identities?: readonly KeptToken[];
  /** The last state that the servers have confirmed (AG-65). */
  readonly acknowledged: ClientAllocUpdate | null;
}

/** Whether one of its tasks was ever started, or was about to be. */
export const hasBegun = ({ tasks }: AllocationRecord): boolean =>
  Object.values(tasks).some(({ handle, state }) => handle !== null || state.StartedAt !== null);

/** Where records are. Implemented on files (allocation-record.store.ts). */
export interface AllocationRecords {
  /** Resolves when it is durable. A newer save of the same allocation may take its place. */
  save(record: AllocationRecord): Promise<void>;
  remove(allocId: string): Promise<void>;
  /** All that can be read; what cannot is logged and left out (AG-198). */
  load(): Promise<AllocationRecord[]>;
}
