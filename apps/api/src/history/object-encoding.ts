import {
  type AclPolicy,
  type AclToken,
  type Allocation,
  type CSIPlugin,
  type CSIVolume,
  type Deployment,
  diffJobs,
  diffMembers,
  encodeAclPolicy,
  encodeAclToken,
  encodeAllocation,
  encodeCSIPlugin,
  encodeCSIVolume,
  encodeDeployment,
  encodeEvaluation,
  encodeHostVolume,
  encodeJob,
  encodeNode,
  encodeVariableMetadata,
  type Evaluation,
  type HostVolume,
  type Job,
  type Node,
  type ObjectDiff,
  type TaskGroupDiff,
  type Variable,
  type WireObject,
} from '@waybill/model';
import type { ObjectKind } from '@waybill/state';

/**
 * Encodes a row of the history as its own endpoint would, without secrets (API-268, CL-1064). The rows of a kind's
 * table are of that kind; JSON in the database has no other type.
 */
export function encodedObject(kind: ObjectKind, row: object): WireObject {
  switch (kind) {
    case 'job':
      return encodeJob(row as Job);
    case 'alloc':
      return encodeAllocation(row as Allocation, { withJob: true });
    case 'eval':
      return encodeEvaluation(row as Evaluation);
    case 'deployment':
      return encodeDeployment(row as Deployment);
    case 'node':
      return encodeNode(row as Node);
    case 'volume':
      return { ...encodeCSIVolume(row as CSIVolume, undefined) };
    case 'host-volume':
      return encodeHostVolume(row as HostVolume);
    case 'plugin':
      return encodeCSIPlugin(row as CSIPlugin, []);
    case 'token':
      return encodeAclToken(row as AclToken, { secretId: '' });
    case 'policy':
      return encodeAclPolicy(row as AclPolicy);
    case 'var':
      return encodeVariableMetadata(row as Variable, 'withoutId');
    case 'role':
    case 'namespace':
    case 'node-pool':
    case 'scheduler-config':
      return row as WireObject;
  }
}

/** Returns the changes between two versions of an object as clients may see them. */
export function objectDiff(kind: ObjectKind, before: object | undefined, after: object | undefined): ObjectDiff {
  if (kind === 'job') return diffOfJobs((before ?? null) as Job | null, (after ?? null) as Job | null);
  const [old, next] = [before, after].map((row) => (row ? encodedObject(kind, row) : null));
  const Type = before ? (after ? 'Edited' : 'Deleted') : 'Added';
  // An allocation's job is an object of its own with a history of its own.
  const members = diffMembers(old ?? null, next ?? null, { skip: new Set(['Job']), withUnchanged: false });
  return { Type, Name: kind, ...members };
}

function diffOfJobs(before: Job | null, after: Job | null): ObjectDiff {
  const { Type, Fields, Objects, TaskGroups } = diffJobs(before, after);
  return { Type, Name: 'job', Fields, Objects: [...Objects, ...TaskGroups.map(groupAsObject)] };
}

const groupAsObject = ({ Type, Name, Fields, Objects, Tasks }: TaskGroupDiff): ObjectDiff => ({
  Type,
  Name: `TaskGroup[${Name}]`,
  Fields,
  Objects: [
    ...Objects,
    ...Tasks.map((task) => ({
      Type: task.Type,
      Name: `Task[${task.Name}]`,
      Fields: task.Fields,
      Objects: task.Objects,
    })),
  ],
});
