import {
  encodeAclPolicy,
  encodeAclToken,
  encodeAllocation,
  encodeAuthMethod,
  encodeCSIPlugin,
  encodeCSIVolume,
  encodeDeployment,
  encodeEvaluation,
  encodeHostVolume,
  encodeJob,
  encodeNode,
  encodeVariableMetadata,
  type Allocation,
  type CSIVolume,
  type HostVolume,
  type WireObject,
} from '@waybill/model';
import { TXN_TYPES } from './log/catalogue.js';
import type { Applied } from './machine/state-machine.js';
import type { Change } from './machine/write.js';

/** Topics with rows in this edition (docs/reference/state-and-events.md 9.1). */
export type EventTopic =
  | 'Job'
  | 'Evaluation'
  | 'Allocation'
  | 'Deployment'
  | 'Node'
  | 'NodePool'
  | 'Service'
  | 'CSIVolume'
  | 'CSIPlugin'
  | 'HostVolume'
  | 'ACLToken'
  | 'ACLPolicy'
  | 'ACLRole'
  | 'ACLAuthMethod'
  | 'ACLBindingRule'
  | 'Variable';

/** One object that a transaction changed, as subscribers get it (section 1.4). */
export interface StreamEvent {
  readonly Topic: EventTopic;
  /** Type of the transaction, not of the object (EV-4). */
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
  readonly FilterKeys: readonly string[] | null;
  readonly Index: number;
  readonly Payload: WireObject;
}

/** One line of the event stream: the changes of one index. `Time` in unix ns (API-263). */
export interface EventFrame {
  readonly Index: number;
  readonly Time: number;
  readonly Events: readonly StreamEvent[];
}

/** ClientDescription of an allocation that exceeded its longest run time. */
export const MAX_RUN_DURATION_EXCEEDED = 'allocation exceeded max_run_duration';

/**
 * The events of one applied transaction; null if it was refused, changed nothing, or has a type without events (EV-1 to
 * EV-6). Computed once, when it is applied, and stored; never derived from a later state (EV-13). Throws if an object
 * cannot be encoded, which is a defect (EV-56). O(rows changed).
 */
export function eventsOf(applied: Applied): EventFrame | null {
  const { eventType } = TXN_TYPES[applied.txn.type];
  if (eventType === null) return null;
  const Events: StreamEvent[] = [];
  for (const change of applied.changes) {
    const said = describe(change);
    if (said) Events.push({ Type: eventType, Index: applied.index, ...said });
  }
  return Events.length === 0 ? null : { Index: applied.index, Time: applied.txn.timeNs, Events };
}

type About = Omit<StreamEvent, 'Type' | 'Index'>;

/** The event of a changed row; undefined for tables without a topic and for silent deletions (EV-2, EV-10). */
function describe(change: Change): About | undefined {
  switch (change.table) {
    case 'jobs': {
      const job = change.after ?? change.before;
      const deleted = change.after === undefined && { Deleted: true };
      return job && about('Job', job.ID, job.Namespace, null, { Job: encodeJob(job), ...deleted });
    }
    case 'evals': {
      const row = change.after;
      return (
        row &&
        about('Evaluation', row.ID, row.Namespace, [row.JobID, row.DeploymentID], { Evaluation: encodeEvaluation(row) })
      );
    }
    case 'allocs': {
      const row = change.after;
      return row && about('Allocation', row.ID, row.Namespace, [row.JobID, row.DeploymentID], allocationPayload(row));
    }
    case 'deployment': {
      const row = change.after;
      return row && about('Deployment', row.ID, row.Namespace, [row.JobID], { Deployment: encodeDeployment(row) });
    }
    case 'nodes': {
      const row = change.after ?? change.before;
      return row && about('Node', row.ID, '', null, { Node: encodeNode(row) });
    }
    case 'node_pools': {
      const row = change.after ?? change.before;
      return row && about('NodePool', row.Name, '', null, { NodePool: row });
    }
    case 'service_registrations': {
      const row = change.after ?? change.before;
      return row && about('Service', row.ID, row.Namespace, [row.JobID, row.ServiceName], { Service: row });
    }
    case 'csi_volumes': {
      const row = change.after ?? change.before;
      // The event omits the plugin's data, which is not the volume's own (EV-52).
      return row && aboutVolume('CSIVolume', row, { ...encodeCSIVolume(row, undefined) });
    }
    case 'csi_plugins': {
      const row = change.after ?? change.before;
      return row && about('CSIPlugin', row.ID, '', [row.ID], { Plugin: encodeCSIPlugin(row, []) });
    }
    case 'host_volumes': {
      const row = change.after ?? change.before;
      return row && aboutVolume('HostVolume', row, encodeHostVolume(row));
    }
    case 'acl_token': {
      const row = change.after ?? change.before;
      // The event omits the secret (EV-53).
      return row && about('ACLToken', row.AccessorID, '', null, { ACLToken: encodeAclToken(row, { secretId: '' }) });
    }
    case 'acl_policy': {
      const row = change.after ?? change.before;
      return row && about('ACLPolicy', row.Name, '', null, { ACLPolicy: encodeAclPolicy(row) });
    }
    case 'acl_roles': {
      const row = change.after ?? change.before;
      return row && about('ACLRole', row.ID, '', [row.Name], { ACLRole: row });
    }
    case 'acl_auth_methods': {
      const row = change.after ?? change.before;
      return row && about('ACLAuthMethod', row.Name, '', null, { AuthMethod: encodeAuthMethod(row) });
    }
    case 'acl_binding_rules': {
      const row = change.after ?? change.before;
      return row && about('ACLBindingRule', row.ID, '', [row.AuthMethod], { ACLBindingRule: row });
    }
    case 'variables': {
      const row = change.after ?? change.before;
      if (!row) return undefined;
      // The event omits the items and the lock's ID (OP-205).
      const Metadata = encodeVariableMetadata(row, 'withoutId');
      return about('Variable', row.Path, row.Namespace, null, { Metadata, Deleted: change.after === undefined });
    }
    case 'root_keys':
    case 'node_introductions':
    case 'acl_token_bootstrap':
    case 'one_time_token':
    case 'task_volume':
    case 'job_version':
    case 'job_submission':
    case 'job_summary':
    case 'periodic_launch':
    case 'scaling_event':
    case 'scaling_policy':
    case 'namespaces':
    case 'scheduler_config':
    case 'cluster_meta':
    case 'leases':
      return undefined;
  }
}

/** Describes an event. Positional parameters, because one line per table shows all of them side by side. */
function about(
  Topic: EventTopic,
  Key: string,
  Namespace: string,
  FilterKeys: readonly string[] | null,
  Payload: WireObject,
): About {
  return { Topic, Key, Namespace, FilterKeys, Payload };
}

function aboutVolume(
  topic: EventTopic,
  { ID, Namespace, Name, PluginID }: Pick<CSIVolume | HostVolume, 'ID' | 'Namespace' | 'Name' | 'PluginID'>,
  Volume: WireObject,
): About {
  return about(topic, ID, Namespace, [ID, Name, PluginID], { Volume });
}

function allocationPayload(alloc: Allocation): WireObject {
  const timedOut = alloc.ClientStatus === 'complete' && alloc.ClientDescription === MAX_RUN_DURATION_EXCEEDED;
  return {
    Allocation: encodeAllocation(alloc, { withJob: false }),
    ...(timedOut && { Timeout: true, TimeoutReason: MAX_RUN_DURATION_EXCEEDED }),
  };
}
