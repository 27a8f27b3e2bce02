import type { ConsulBlock, RestartPolicy } from './shared-blocks.js';
import { affinityShape, constraintShape, spreadShape } from './placement-shape.js';
import { networkShape } from '../nodes/resources-shape.js';
import { scalingShape } from './scaling-shape.js';
import { serviceShape } from './service-shape.js';
import type {
  DisconnectStrategy,
  EphemeralDisk,
  MigrateStrategy,
  ReschedulePolicy,
  TaskGroup,
  UpdateStrategy,
} from './task-group.js';
import { consulShape, restartShape, taskShape } from './task-shape.js';
import type { MountOptions, VolumeRequest } from './volume.js';
import {
  boolean,
  duration,
  filledList,
  filledString,
  int,
  list,
  map,
  object,
  optional,
  present,
  serverOwned,
  string,
  type Shape,
} from '../encoding/wire-shape.js';

/** The defaults of the four policies depend on the job's type: default-policies.ts. */
export const updateShape: Shape<UpdateStrategy> = {
  name: 'UpdateStrategy',
  fields: {
    Stagger: duration(),
    MaxParallel: int(),
    HealthCheck: string(),
    MinHealthyTime: duration(),
    HealthyDeadline: duration(),
    ProgressDeadline: duration(),
    AutoRevert: boolean(),
    AutoPromote: boolean(),
    Canary: int(),
  },
};

export const migrateShape: Shape<MigrateStrategy> = {
  name: 'MigrateStrategy',
  fields: { MaxParallel: int(), HealthCheck: string(), MinHealthyTime: duration(), HealthyDeadline: duration() },
};

export const rescheduleShape: Shape<ReschedulePolicy> = {
  name: 'ReschedulePolicy',
  fields: {
    Attempts: int(),
    Interval: duration(),
    Delay: duration(),
    DelayFunction: string(),
    MaxDelay: duration(),
    Unlimited: boolean(),
  },
};

const disconnectShape: Shape<DisconnectStrategy> = {
  name: 'DisconnectStrategy',
  fields: {
    LostAfter: duration(),
    StopOnClientAfter: optional(duration()),
    Replace: boolean(true),
    Reconcile: filledString('best_score'),
  },
};

const diskShape: Shape<EphemeralDisk> = {
  name: 'EphemeralDisk',
  fields: { Sticky: boolean(), SizeMB: int(300), Migrate: boolean() },
};

export const mountOptionsShape: Shape<MountOptions> = {
  name: 'CSIMountOptions',
  fields: { FSType: string(), MountFlags: list(string()) },
};

const volumeShape: Shape<VolumeRequest> = {
  name: 'VolumeRequest',
  fields: {
    Name: string(),
    Type: string(),
    Source: string(),
    ReadOnly: boolean(),
    Sticky: boolean(),
    AccessMode: string(),
    AttachmentMode: string(),
    MountOptions: object(mountOptionsShape),
    PerAlloc: boolean(),
  },
};

export const taskGroupShape: Shape<TaskGroup> = {
  name: 'TaskGroup',
  fields: {
    Name: string(),
    Count: int(1),
    Update: object(updateShape),
    Migrate: object(migrateShape),
    Constraints: list(present(constraintShape)),
    Affinities: list(present(affinityShape)),
    Spreads: list(present(spreadShape)),
    Scaling: object(scalingShape),
    RestartPolicy: present<RestartPolicy>(restartShape),
    ReschedulePolicy: object(rescheduleShape),
    Disconnect: object(disconnectShape),
    Tasks: filledList(present(taskShape)),
    EphemeralDisk: present(diskShape),
    Meta: map(string()),
    Networks: list(present(networkShape)),
    Consul: object<ConsulBlock>(consulShape),
    Services: list(present(serviceShape)),
    Volumes: map(present(volumeShape)),
    ShutdownDelay: optional(duration()),
    MaxRunDuration: optional(duration()),
    StopAfterClientDisconnect: serverOwned(null),
    MaxClientDisconnect: serverOwned(null),
    PreventRescheduleOnLost: serverOwned(false as const),
  },
};
