import type { Allocation, ClientAllocUpdate, Node, Timers } from '@waybill/model';
import type { AgentRuntime } from '../agent-runtime.js';
import type { Driver } from '../drivers/driver.js';
import type { MachineIdentities } from '../identities/machine-identities.js';
import type { AllocationNetworks } from '../networks/allocation-networks.js';
import type { Probe } from '../services/probe.transport.js';
import type { ServiceRegistry } from '../services/service-registry.js';
import type { TaskHook } from '../tasks/task-hook.js';
import type { StorageHost } from '../volumes/csi/allocation-storage.js';
import type { Gate } from '../waiting/gate.js';
import type { AllocationDirectories } from './disk/allocation-directories.js';
import type { PreviousDisk } from './disk/previous-disk.js';
import type { AllocationRecords } from './records/allocation-record.js';

/**
 * AgentServices are the services that the agent provides to every allocation on its machine. There is one object, and
 * each context refers to it.
 */
export interface AgentServices extends Omit<AgentRuntime, 'rpc'> {
  /** Returns the current description of the machine, with its identity. */
  readonly node: () => Node;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The upper limit of a task's own `kill_timeout` (AG-155). */
  readonly maxKillTimeoutMs: number;
  readonly directories: AllocationDirectories;
  /** The task hooks in the order in which they run; the default is none. */
  readonly taskHooks?: readonly TaskHook[];
  readonly records: AllocationRecords;
  /** Timers for a time of day, which notice changes of the clock. */
  readonly deadlines: Timers;
  /** Opens when the agent has contacted the servers since its start. */
  readonly serversAsked: Gate;
  readonly registry: ServiceRegistry;
  readonly probe: Probe;
  /** Absent if this machine gives its tasks no tokens. */
  readonly identities?: MachineIdentities;
  /** Absent if all tasks of this machine use its network, whatever their job says (NW-28). */
  readonly networks?: Pick<AllocationNetworks, 'prepare' | 'find' | 'release'>;
  /** Absent if this machine has no CSI volumes. */
  readonly csi?: StorageHost;
  /** Resolves when the allocations of this machine that this allocation replaces or preempted have ended (AG-53). */
  readonly predecessorsEnded: (alloc: Allocation) => Promise<void>;
  /** Fetches a disk from another machine; absent if the agent cannot reach other machines. */
  readonly previousDisk?: PreviousDisk;
  /** Queues a state for the servers. The state is on disk already. */
  readonly report: (update: ClientAllocUpdate, traceparent: string | undefined) => void;
}
