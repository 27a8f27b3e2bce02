import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Job, type ScalingPolicy, scalingSpecification } from '@waybill/model';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Stores the scaling policies of a job as rows of their own (ST-59). Target and type identify a policy: it keeps its ID
 * and creation over versions of the job, its modification while it is unchanged, and is deleted when its target leaves
 * the job.
 * @returns the job with its policies as they are stored; the same object if it has none, as is the rule
 */
export function upsertScalingPolicies(w: Write, job: Job): Job {
  const before = new Map(storedPolicies(w, job).map((policy) => [identityOf(policy), policy]));
  const upsert = (policy: ScalingPolicy): ScalingPolicy => {
    if (!isOwn(job, policy)) return policy;
    const identity = identityOf(policy);
    const stored = before.get(identity);
    before.delete(identity);
    if (stored && isDeepStrictEqual(scalingSpecification(stored), scalingSpecification(policy))) return stored;
    const kept = {
      ...policy,
      ID: stored?.ID ?? idOf(identity, w.index),
      CreateIndex: stored?.CreateIndex ?? w.index,
      ModifyIndex: w.index,
    };
    w.put('scaling_policy', kept);
    return kept;
  };
  const withPolicies = hasPolicies(job) ? mapPolicies(job, upsert) : job;
  for (const gone of before.values()) w.remove('scaling_policy', gone.ID);
  return withPolicies;
}

export function removeScalingPolicies(w: Write, job: Pick<Job, 'Namespace' | 'ID'>): void {
  for (const policy of storedPolicies(w, job)) w.remove('scaling_policy', policy.ID);
}

const storedPolicies = (w: Write, { Namespace, ID }: Pick<Job, 'Namespace' | 'ID'>): ScalingPolicy[] =>
  oldestFirst(w.tables.scaling_policy.by('job', namespacedKey(Namespace, ID)));

const hasPolicies = ({ TaskGroups }: Job): boolean =>
  TaskGroups.some(({ Scaling, Tasks }) => Scaling || Tasks.some(({ ScalingPolicies }) => ScalingPolicies?.length));

/** Whether the policies are the job's own: children of periodic and parameterized jobs carry their parent's. */
const isOwn = ({ Namespace, ID }: Job, { Target }: ScalingPolicy): boolean =>
  Target?.['Namespace'] === Namespace && Target['Job'] === ID;

function mapPolicies(job: Job, map: (policy: ScalingPolicy) => ScalingPolicy): Job {
  const TaskGroups = job.TaskGroups.map((group) => ({
    ...group,
    Scaling: group.Scaling && map(group.Scaling),
    Tasks: group.Tasks.map((task) => ({ ...task, ScalingPolicies: task.ScalingPolicies?.map(map) ?? null })),
  }));
  return { ...job, TaskGroups };
}

const identityOf = ({ Target, Type }: ScalingPolicy): string =>
  JSON.stringify(['Namespace', 'Job', 'Group', 'Task'].map((member) => Target?.[member] ?? '').concat(Type));

/** A UUID that every copy of the state derives by itself (ST-3), another one when the job is registered anew. */
function idOf(identity: string, index: number): string {
  const hex = createHash('sha256').update(`${index} ${identity}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
