import type { Change } from './change.js';

/** QueryKey is the key of a cached answer, or the beginning of one. */
export type QueryKey = readonly string[];

/**
 * Returns the keys of cached answers that a change makes stale. The keys are those of `api/queries.ts`: the kind of
 * object comes first, so that a page of a job is not read again when another job changes. The function is pure.
 */
export function affectedBy({ topic, key, namespace, filterKeys, payload }: Change): readonly QueryKey[] {
  const [job = ''] = filterKeys;
  switch (topic) {
    case 'Job':
      return [
        ['jobs'],
        ['job', namespace, key],
        ['job-summary', namespace, key],
        ['job-scale', namespace, key],
        ['job-versions', namespace, key],
      ];
    case 'Evaluation':
      // The number of allocations that wait for a place is counted with the evaluation.
      return [
        ['jobs'],
        ['evaluations'],
        ['evaluation', key],
        ['job-evaluations', namespace, job],
        ['job-summary', namespace, job],
      ];
    case 'Allocation':
      return [
        ['jobs'],
        ['allocations'],
        ['allocation', key],
        ['job-allocations', namespace, job],
        ['job-scale', namespace, job],
        ['job-summary', namespace, job],
        ['node-allocations', nodeOf(payload)],
        ...deploymentsOf(filterKeys),
      ];
    case 'Deployment':
      return [['deployments'], ['deployment', key], ['job-deployments', namespace, job]];
    case 'Node':
      return [['nodes'], ['node', key]];
    case 'SchedulerConfiguration':
      return [['scheduler-configuration']];
    case 'Service':
      return [['services'], ['job-services', namespace, job]];
    default:
      return [];
  }
}

function nodeOf(payload: Change['payload']): string {
  const { Allocation } = payload as { Allocation?: { NodeID?: string } };
  return Allocation?.NodeID ?? '';
}

const deploymentsOf = ([, deployment = '']: readonly string[]): readonly QueryKey[] =>
  deployment === '' ? [] : [['deployment-allocations', deployment]];
