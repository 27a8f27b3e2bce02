import { NS_PER_MINUTE, NS_PER_SECOND } from '../time/clock.js';
import type {
  Job,
  JobStatus,
  JobUI,
  JobVersionTag,
  Multiregion,
  MultiregionRegion,
  ParameterizedJobConfig,
  PeriodicConfig,
} from './job.js';
import { affinityShape, constraintShape, spreadShape } from './placement-shape.js';
import type { MigrateStrategy, ReschedulePolicy, UpdateStrategy } from './task-group.js';
import { migrateShape, rescheduleShape, taskGroupShape, updateShape } from './task-group-shape.js';
import {
  boolean,
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
  type Given,
  type Shape,
} from '../encoding/wire-shape.js';

/** A submitted job, with the blocks that are merged into its groups and never stored. */
export type GivenJob = Given<Job> & {
  Reschedule?: Given<ReschedulePolicy>;
  Migrate?: Given<MigrateStrategy>;
};

const regionShape: Shape<MultiregionRegion> = {
  name: 'MultiregionRegion',
  fields: { Name: string(), Count: int(1), Datacenters: list(string()), NodePool: string(), Meta: map(string()) },
};

const strategyShape: Shape<NonNullable<Multiregion['Strategy']>> = {
  name: 'MultiregionStrategy',
  fields: { MaxParallel: int(), OnFailure: string() },
};

const multiregionShape: Shape<Multiregion> = {
  name: 'Multiregion',
  fields: { Strategy: present(strategyShape), Regions: list(present(regionShape)) },
};

const periodicShape: Shape<PeriodicConfig> = {
  name: 'PeriodicConfig',
  fields: {
    Enabled: boolean(true),
    Spec: string(),
    Specs: list(string()),
    SpecType: string('cron'),
    ProhibitOverlap: boolean(),
    TimeZone: filledString('UTC'),
  },
};

const parameterizedShape: Shape<ParameterizedJobConfig> = {
  name: 'ParameterizedJobConfig',
  fields: { Payload: filledString('optional'), MetaRequired: list(string()), MetaOptional: list(string()) },
};

const uiShape: Shape<JobUI> = {
  name: 'JobUIConfig',
  fields: {
    Description: string(),
    Links: list(
      present<{ Label: string; Url: string }>({ name: 'JobUILink', fields: { Label: string(), Url: string() } }),
    ),
  },
};

/** Defaults that depend on the job's type or on other fields are in canonicalise-job.ts. */
export const jobShape: Shape<Job> = {
  name: 'Job',
  fields: {
    ID: string(),
    Name: string(),
    Namespace: filledString('default'),
    Region: string(),
    ParentID: serverOwned(''),
    Type: string('service'),
    Priority: int(50),
    AllAtOnce: boolean(),
    Datacenters: filledList(string()),
    NodePool: filledString('default'),
    Constraints: list(present(constraintShape)),
    Affinities: list(present(affinityShape)),
    Spreads: list(present(spreadShape)),
    TaskGroups: filledList(present(taskGroupShape)),
    Update: present<UpdateStrategy>(updateShape),
    Multiregion: object(multiregionShape),
    Periodic: object(periodicShape),
    ParameterizedJob: object(parameterizedShape),
    Dispatched: serverOwned(false),
    DispatchIdempotencyToken: serverOwned(''),
    Payload: optional(string()),
    Meta: map(string()),
    ConsulNamespace: string(),
    VaultNamespace: string(),
    NomadTokenID: serverOwned(''),
    Status: serverOwned<JobStatus>('pending'),
    StatusDescription: serverOwned(''),
    Stop: boolean(),
    Stable: serverOwned(false),
    Version: serverOwned(0),
    SubmitTime: serverOwned(0),
    CreateIndex: serverOwned(0),
    ModifyIndex: serverOwned(0),
    JobModifyIndex: serverOwned(0),
    UI: object(uiShape),
    VersionTag: serverOwned<JobVersionTag | null>(null),
  },
  inputOnly: { Reschedule: object(rescheduleShape), Migrate: object(migrateShape) },
};

/** Defaults for the fields of an update block that neither group nor job sets (API-301). */
export const UPDATE_DEFAULTS: Readonly<UpdateStrategy> = {
  Stagger: 30 * NS_PER_SECOND,
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * NS_PER_SECOND,
  HealthyDeadline: 5 * NS_PER_MINUTE,
  ProgressDeadline: 10 * NS_PER_MINUTE,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
};
