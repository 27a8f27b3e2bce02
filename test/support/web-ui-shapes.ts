import { expect } from 'vitest';
import { BOOL, INT, type Json, NS, STRING, UINT, UUID } from './official-client.js';

/** What the serializers and models of the official web UI take from answers without asking whether it is there. */

export const orNull = (one: unknown): unknown =>
  expect.toSatisfy((value: unknown) => value === null || matches(value, one), 'that, or null');
export const listOf = (one: unknown): unknown =>
  expect.toSatisfy((value: unknown) => Array.isArray(value) && value.every((item) => matches(item, one)), 'a list');
export const mapOf = (one: unknown): unknown =>
  expect.toSatisfy(
    (value: unknown) => isObject(value) && Object.values(value).every((item) => matches(item, one)),
    'a map',
  );
export const DATE = expect.toSatisfy((value) => !Number.isNaN(Date.parse(String(value))), 'a date') as unknown;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

function matches(value: unknown, expected: unknown): boolean {
  expect({ value }).toMatchObject({ value: expected });
  return true;
}

/** `serializers/task-group.js` and `task.js` go through these without looking. */
export const TASK_GROUP = {
  Name: STRING,
  Count: INT,
  EphemeralDisk: { SizeMB: INT },
  Tasks: listOf({
    Name: STRING,
    Driver: STRING,
    Resources: { CPU: INT, MemoryMB: INT, MemoryMaxMB: INT, DiskMB: INT },
  }),
};
/** `serializers/resources.js`, and the topology, which divides by these. */
export const ALLOCATED = {
  Tasks: mapOf({ Cpu: { CpuShares: INT }, Memory: { MemoryMB: INT }, Networks: orNull(expect.any(Array)) }),
  Shared: { DiskMB: INT },
};
export const NODE_RESOURCES = { Cpu: { CpuShares: INT }, Memory: { MemoryMB: INT }, Disk: { DiskMB: INT } };
export const ALLOCATION = {
  ID: UUID,
  Name: STRING,
  Namespace: STRING,
  JobID: STRING,
  NodeID: UUID,
  TaskGroup: STRING,
  ClientStatus: STRING,
  DesiredStatus: STRING,
  CreateIndex: UINT,
  ModifyIndex: UINT,
  CreateTime: NS,
  ModifyTime: NS,
};
/** In lists; by itself it has its job, and that a version. */
export const ALLOCATION_STUB = { ...ALLOCATION, JobVersion: UINT };
export const TASK_STATE = {
  State: STRING,
  Failed: BOOL,
  StartedAt: orNull(DATE),
  FinishedAt: orNull(DATE),
  Events: listOf({ Type: STRING, Time: NS, DisplayMessage: STRING, ExitCode: INT, Signal: INT }),
};
/** What the list of jobs shows of one; `serializers/job.js` looks into each `DeploymentStatus` without asking. */
export const STATUS_ROW = {
  ID: STRING,
  Namespace: STRING,
  Name: STRING,
  Type: STRING,
  NodePool: STRING,
  Priority: INT,
  Version: UINT,
  ModifyIndex: UINT,
  SubmitTime: NS,
  Stop: BOOL,
  IsPack: BOOL,
  Status: STRING,
  ParentID: STRING,
  GroupCountSum: INT,
  ChildStatuses: orNull(listOf(STRING)),
  LatestDeployment: orNull({ IsActive: BOOL, Status: STRING, RequiresPromotion: BOOL, AllAutoPromote: BOOL }),
  Allocs: listOf({
    ID: UUID,
    Group: STRING,
    ClientStatus: STRING,
    NodeID: UUID,
    JobVersion: UINT,
    HasPausedTask: BOOL,
    DeploymentStatus: { Healthy: orNull(BOOL), Canary: BOOL },
  }),
};
export const DEPLOYMENT = {
  ID: UUID,
  JobID: STRING,
  Namespace: STRING,
  JobVersion: UINT,
  Status: STRING,
  StatusDescription: STRING,
  TaskGroups: mapOf({
    AutoRevert: BOOL,
    AutoPromote: BOOL,
    Promoted: BOOL,
    PlacedCanaries: orNull(listOf(UUID)),
    DesiredCanaries: INT,
    DesiredTotal: INT,
    PlacedAllocs: INT,
    HealthyAllocs: INT,
    UnhealthyAllocs: INT,
    RequireProgressBy: orNull(DATE),
  }),
};
