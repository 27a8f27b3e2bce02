import type { Allocation, ClientAllocUpdate, Clock, Timers } from '@waybill/model';
import type { Logger, Tracer } from '@waybill/telemetry';
import type { AllocRecords } from './records/allocation-record.js';
import type { StorageHost } from '../volumes/csi/allocation-storage.js';
import type { Driver } from '../drivers/driver.js';
import type { Gate } from '../waiting/gate.js';
import type { PreviousDisk } from './disk/previous-disk.js';
import type { Probe } from '../services/probe.transport.js';
import type { ServiceRegistry } from '../services/service-registry.js';
import type { TaskPreparationDependencies } from '../tasks/task-preparation.js';

/** What all allocations of an agent share. */
export interface AllocHost extends TaskPreparationDependencies {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** AG-155. */
  readonly maxKillTimeoutMs: number;
  readonly records: AllocRecords;
  readonly clock: Clock;
  readonly timers: Timers;
  /** For what is due at a time of day, whatever the clock is set to meanwhile. */
  readonly deadlines: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly serversAsked: Gate;
  readonly registry: ServiceRegistry;
  readonly probe: Probe;
  /** Absent: this machine has no volumes of CSI. */
  readonly csi?: StorageHost;
  /** Resolves when the allocations of this machine that this one replaces or preempted have ended (AG-53). */
  readonly predecessorsEnded: (alloc: Allocation) => Promise<void>;
  /** Brings a disk from another machine; absent: there is no way to others. */
  readonly previousDisk?: PreviousDisk;
  /** A state to be told to the servers; it is on disk. */
  readonly report: (update: ClientAllocUpdate, traceparent: string | undefined) => void;
}
