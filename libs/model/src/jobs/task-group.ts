import type { ConsulBlock, RestartPolicy, ScalingPolicy } from './shared-blocks.js';
import type { Affinity, Constraint, Spread } from './placement-rules.js';
import type { NetworkResource } from '../nodes/resources.js';
import type { Service } from './service.js';
import type { Task } from './task.js';
import type { VolumeRequest } from './volume.js';

/** The unit of placement. Durations are in nanoseconds. */
export interface TaskGroup {
  Name: string;
  Count: number;
  Update: UpdateStrategy | null;
  Migrate: MigrateStrategy | null;
  Constraints: Constraint[] | null;
  Affinities: Affinity[] | null;
  Spreads: Spread[] | null;
  Scaling: ScalingPolicy | null;
  RestartPolicy: RestartPolicy;
  /** Null for system and sysbatch jobs. */
  ReschedulePolicy: ReschedulePolicy | null;
  Disconnect: DisconnectStrategy | null;
  Tasks: Task[];
  EphemeralDisk: EphemeralDisk;
  Meta: Record<string, string> | null;
  Networks: NetworkResource[] | null;
  Consul: ConsulBlock | null;
  Services: Service[] | null;
  Volumes: Record<string, VolumeRequest> | null;
  ShutdownDelay: number | null;
  MaxRunDuration: number | null;
  /** Deprecated: always null (API-314). */
  StopAfterClientDisconnect: null;
  /** Deprecated: always null (API-314). */
  MaxClientDisconnect: null;
  /** Deprecated: always false (API-314). */
  PreventRescheduleOnLost: false;
}

/** Durations are in nanoseconds. `ProgressDeadline` 0 stands for none. */
export interface UpdateStrategy {
  Stagger: number;
  MaxParallel: number;
  /** One of `checks`, `task_states`, `manual`. */
  HealthCheck: string;
  MinHealthyTime: number;
  HealthyDeadline: number;
  ProgressDeadline: number;
  AutoRevert: boolean;
  AutoPromote: boolean;
  Canary: number;
}

export interface MigrateStrategy {
  MaxParallel: number;
  HealthCheck: string;
  MinHealthyTime: number;
  HealthyDeadline: number;
}

export interface ReschedulePolicy {
  Attempts: number;
  Interval: number;
  Delay: number;
  /** One of `constant`, `exponential`, `fibonacci`. */
  DelayFunction: string;
  MaxDelay: number;
  Unlimited: boolean;
}

export interface DisconnectStrategy {
  LostAfter: number;
  StopOnClientAfter: number | null;
  Replace: boolean | null;
  /** One of `best_score`, `keep_original`, `keep_replacement`, `longest_running`. */
  Reconcile: string;
}

export interface EphemeralDisk {
  Sticky: boolean;
  SizeMB: number;
  Migrate: boolean;
}
