import type { Change } from './change.js';

/** QueryKey is the key of a cached answer, or the beginning of one. */
export type QueryKey = readonly string[];

/** Returns a key as one text. */
export const nameOf = (key: QueryKey): string => key.join('\u0000');

/**
 * Returns the keys of cached answers that a change makes stale. The keys are those of `api/queries.ts`: the kind of
 * object comes first, so that a page of a job is not read again when another job changes. The function is pure.
 */
export function affectedBy(change: Change): readonly QueryKey[] {
  const kind = HISTORY_KINDS[change.topic];
  const log: readonly QueryKey[] = kind === undefined ? [] : [['object-log', kind]];
  return [...log, ...pagesAffectedBy(change)];
}

/** The kinds of objects in the history, by the topics of their events. */
const HISTORY_KINDS: Readonly<Record<string, string>> = {
  Job: 'job',
  Allocation: 'alloc',
  Evaluation: 'eval',
  Deployment: 'deployment',
  Node: 'node',
  CSIVolume: 'volume',
  HostVolume: 'host-volume',
  CSIPlugin: 'plugin',
  ACLPolicy: 'policy',
  ACLRole: 'role',
  ACLToken: 'token',
  Variable: 'var',
};

function pagesAffectedBy({ topic, key, namespace, filterKeys, payload }: Change): readonly QueryKey[] {
  const [job = ''] = filterKeys;
  switch (topic) {
    case 'Job':
      return [['jobs'], ['job', namespace, key], ['job-summary', namespace, key], ['job-versions', namespace, key]];
    case 'Evaluation':
      // The number of allocations that wait for a place is counted with the evaluation.
      return [
        ['jobs'],
        ['evaluations'],
        ['evaluation', key],
        ['trace', key],
        ['job-evaluations', namespace, job],
        ['job-summary', namespace, job],
      ];
    case 'Allocation':
      return [
        ['csi-volume', namespace],
        ['host-volume', namespace],
        ['jobs'],
        ['allocations'],
        ['allocation', key],
        ['job-allocations', namespace, job],
        ['job-summary', namespace, job],
        ['node-allocations', memberOf(payload, 'NodeID')],
        ['trace', memberOf(payload, 'EvalID')],
        ...deploymentsOf(filterKeys),
      ];
    case 'Deployment':
      return [['deployments'], ['deployment', key], ['job-deployments', namespace, job]];
    case 'Node':
      return [['nodes'], ['node', key]];
    case 'SchedulerConfiguration':
      return [['scheduler-configuration']];
    case 'Service':
      return [['services'], ['service', namespace, filterKeys[1] ?? '']];
    case 'Variable':
      return [['variables'], ['variable', namespace, key]];
    case 'CSIVolume':
      return [['csi-volumes'], ['csi-volume', namespace, key]];
    case 'HostVolume':
      return [['host-volumes'], ['host-volume', namespace, key]];
    case 'CSIPlugin':
      // The health of a volume is that of its plugin.
      return [['plugins'], ['plugin', key], ['csi-volumes'], ['csi-volume']];
    case 'ACLToken':
      return [['tokens'], ['token', key], ['own-token'], ['rights']];
    case 'ACLPolicy':
      return [['policies'], ['policy', key], ['rights']];
    case 'ACLRole':
      return [['roles'], ['role', key], ['rights']];
    case 'ACLAuthMethod':
      return [['auth-methods'], ['auth-method', key]];
    case 'ACLBindingRule':
      return [['binding-rules']];
    default:
      return [];
  }
}

function memberOf(payload: Change['payload'], member: 'NodeID' | 'EvalID'): string {
  const { Allocation } = payload as { Allocation?: { NodeID?: string; EvalID?: string } };
  return Allocation?.[member] ?? '';
}

const deploymentsOf = ([, deployment = '']: readonly string[]): readonly QueryKey[] =>
  deployment === '' ? [] : [['deployment-allocations', deployment]];
