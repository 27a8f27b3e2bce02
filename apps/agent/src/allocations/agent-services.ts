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

/** What the agent gives to every allocation on its machine: one object, which each context refers to. */
export interface AgentServices extends Omit<AgentRuntime, 'rpc'> {
  /** The machine as it is now, with its identity. */
  readonly node: () => Node;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly drivers: ReadonlyMap<string, Driver>;
  /** A task's own `kill_timeout` is cut to this (AG-155). */
  readonly maxKillTimeoutMs: number;
  readonly directories: AllocationDirectories;
  /** In the order in which they run; default: none. */
  readonly taskHooks?: readonly TaskHook[];
  readonly records: AllocationRecords;
  /** For what is due at a time of day, whatever the clock is set to meanwhile. */
  readonly deadlines: Timers;
  /** Opens when the servers have been asked since the start of the agent. */
  readonly serversAsked: Gate;
  readonly registry: ServiceRegistry;
  readonly probe: Probe;
  /** Absent: this machine gives its tasks no tokens. */
  readonly identities?: MachineIdentities;
  /** Absent: tasks of this machine are in its network, whatever their job says (NW-28). */
  readonly networks?: Pick<AllocationNetworks, 'prepare' | 'find' | 'release'>;
  /** Absent: this machine has no volumes of CSI. */
  readonly csi?: StorageHost;
  /** Resolves when the allocations of this machine that this one replaces or preempted have ended (AG-53). */
  readonly predecessorsEnded: (alloc: Allocation) => Promise<void>;
  /** Brings a disk from another machine; absent: there is no way to others. */
  readonly previousDisk?: PreviousDisk;
  /** Hands over a state to be told to the servers; it is on disk. */
  readonly report: (update: ClientAllocUpdate, traceparent: string | undefined) => void;
}
