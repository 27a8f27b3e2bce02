import { fitIndexKey } from '@waybill/model';
import { changeText } from './change-text.js';
import type { Applied } from './state-machine.js';
import type { TableName } from './tables.js';
import { type Undo, undoOf } from './undo.js';
import type { Txn } from '../log/txn.js';
import type { Change } from './write.js';

/** Objects with a history, by the names of API-265, and their tables. */
export const HISTORY_TABLES = {
  job: 'jobs',
  alloc: 'allocs',
  eval: 'evals',
  deployment: 'deployment',
  node: 'nodes',
  volume: 'csi_volumes',
  'host-volume': 'host_volumes',
  plugin: 'csi_plugins',
  namespace: 'namespaces',
  'node-pool': 'node_pools',
  'scheduler-config': 'scheduler_config',
  policy: 'acl_policy',
  role: 'acl_roles',
  token: 'acl_token',
  var: 'variables',
} as const satisfies Record<string, TableName>;

export type ObjectKind = keyof typeof HISTORY_TABLES;

const KINDS = new Map<TableName, ObjectKind>(
  (Object.keys(HISTORY_TABLES) as ObjectKind[]).map((kind) => [HISTORY_TABLES[kind], kind]),
);

/** The one ID of the scheduler configuration (API-265). */
export const SCHEDULER_CONFIG_ID = 'scheduler-config';

/** Identifies an object of the history. */
export interface ObjectName {
  readonly kind: ObjectKind;
  /** `""` for objects without a namespace. */
  readonly namespace: string;
  readonly id: string;
}

/** The change of one object by one transaction, or the attempt of a change. */
export interface ObjectChange extends ObjectName {
  /** `none`: the transaction names the object and changed nothing; the attempt is part of the history (CL-1023). */
  readonly op: 'create' | 'update' | 'delete' | 'none';
  readonly text: string;
  /** Reverts the change; null if the object did not exist before, or was not changed. Without an allocation's job. */
  readonly undo: Undo | null;
  /** The changed row; undefined for `none`. */
  readonly change: Change | undefined;
}

/** The objects of the history that a transaction changed or names. Pure, the same in every copy. O(rows changed). */
export function objectChanges({ txn, changes }: Applied): ObjectChange[] {
  const said: ObjectChange[] = [];
  for (const change of changes) {
    const name = nameOf(change);
    if (!name) continue;
    const op = change.before ? (change.after ? 'update' : 'delete') : 'create';
    const undo = txn.type === 'HistoryRedact' ? undoOfRedaction(change) : undoOfChange(change);
    const members = undo ? [...Object.keys(undo.set), ...(undo.unset ?? [])] : [];
    const { kind, namespace, id } = name;
    const text = txn.type === 'HistoryRedact' ? 'redacted' : changeText(change, members);
    said.push({ kind, namespace, id, op, text, undo, change });
  }
  if (said.length > 0) return said;
  const meant = meantBy(txn);
  if (!meant || !isStorableName(meant)) return [];
  return [{ ...meant, op: 'none', text: '', undo: null, change: undefined }];
}

const undoOfChange = ({ table, before, after }: Change): Undo | null =>
  before ? undoOf(before, after, UNDONE_ELSEWHERE[table]) : null;

/** A redaction cannot be undone: the history has only the index of the former row (ST-185). */
const undoOfRedaction = ({ before }: Change): Undo => ({
  set: before && 'ModifyIndex' in before ? { ModifyIndex: before.ModifyIndex } : {},
});

/**
 * Members that the history omits. The job of an allocation is most of its size and stored once for each version beside
 * them; secrets of a volume (VL-6), those of a token, and the items of a variable are not kept, even sealed.
 */
const UNDONE_ELSEWHERE: Partial<Record<TableName, string>> = {
  allocs: 'Job',
  csi_volumes: 'Secrets',
  acl_token: 'SealedSecret',
  variables: 'Data',
};

function nameOf(change: Change): ObjectName | undefined {
  const kind = KINDS.get(change.table);
  if (!kind) return undefined;
  switch (change.table) {
    case 'jobs':
    case 'allocs':
    case 'evals':
    case 'deployment':
    case 'csi_volumes':
    case 'host_volumes': {
      const row = change.after ?? change.before;
      return row && { kind, namespace: row.Namespace, id: row.ID };
    }
    case 'variables': {
      const row = change.after ?? change.before;
      return row && { kind, namespace: row.Namespace, id: row.Path };
    }
    case 'scheduler_config':
      return { kind, namespace: '', id: SCHEDULER_CONFIG_ID };
    default:
      return { kind, namespace: '', id: change.key };
  }
}

/** Whether the history can name the object: a transaction may have been refused because its name cannot be stored. */
const isStorableName = ({ namespace, id }: { readonly namespace: unknown; readonly id: unknown }): boolean =>
  typeof namespace === 'string' && typeof id === 'string' && fitIndexKey([namespace, id]);

/** The object that a transaction without changes names. */
function meantBy(txn: Txn): ObjectName | undefined {
  const { namespace } = txn;
  switch (txn.type) {
    case 'JobRegister':
      return { kind: 'job', namespace, id: txn.payload.Job.ID };
    case 'JobDeregister':
    case 'JobStability':
      return { kind: 'job', namespace, id: txn.payload.JobID };
    case 'NodeRegister':
      return { kind: 'node', namespace: '', id: txn.payload.Node.ID };
    case 'NodeDeregister':
    case 'NodeUpdateStatus':
    case 'NodeUpdateDrain':
    case 'NodeUpdateEligibility':
      return { kind: 'node', namespace: '', id: txn.payload.NodeID };
    case 'DeploymentStatusUpdate':
      return { kind: 'deployment', namespace, id: txn.payload.Update.DeploymentID };
    case 'DeploymentPromote':
    case 'DeploymentAllocHealth':
      return { kind: 'deployment', namespace, id: txn.payload.DeploymentID };
    case 'CSIVolumeClaim':
      return { kind: 'volume', namespace, id: txn.payload.VolumeID };
    case 'CSIPluginDelete':
      return { kind: 'plugin', namespace: '', id: txn.payload.ID };
    case 'HostVolumeRegister':
      return { kind: 'host-volume', namespace: txn.payload.Volume.Namespace, id: txn.payload.Volume.ID };
    case 'HostVolumeDelete':
      return { kind: 'host-volume', namespace, id: txn.payload.ID };
    case 'VarApplyState':
      return { kind: 'var', namespace, id: txn.payload.Path };
    case 'SchedulerConfig':
      return { kind: 'scheduler-config', namespace: '', id: SCHEDULER_CONFIG_ID };
    default:
      return undefined;
  }
}
