import type { Change } from './change.js';

/** A key of a cached answer, or the beginning of one. */
export type QueryKey = readonly string[];

/**
 * Which cached answers a change makes old. The keys are those of `api/queries.ts`: the kind of object first, so that a
 * page of a job is not read anew when another job changes. Pure.
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
      // How many allocations wait for a place is counted with the evaluation.
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
