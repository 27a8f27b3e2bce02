import {
  type Allocation,
  type CSIPlugin,
  type CSIPluginJob,
  type CSIPluginJobs,
  type Job,
  type JobSummary,
  type TaskGroup,
} from '@waybill/model';
import { namespacedKey, type Tables } from '../machine/tables.js';

/** Instances of one plugin that a job requires; null: none on that side. */
export interface ExpectedInstances {
  controllers: number | null;
  nodes: number | null;
}

/** Plugins that the group's tasks implement. */
export function pluginsOfGroup(group: Pick<TaskGroup, 'Tasks'> | undefined): string[] {
  return group ? pluginsOfGroups([group]) : [];
}

/** Plugins that the groups' tasks implement. Called whenever a job is written; hardly any job has plugins. */
export function pluginsOfGroups(groups: readonly Pick<TaskGroup, 'Tasks'>[]): string[] {
  const plugins: string[] = [];
  for (const { Tasks } of groups)
    for (const { CSIPluginConfig } of Tasks) if (CSIPluginConfig) plugins.push(CSIPluginConfig.ID);
  return plugins;
}

/** Plugins of which the allocation is an instance. */
export const pluginsOfAllocation = (alloc: Pick<Allocation, 'Job' | 'TaskGroup'>): string[] =>
  pluginsOfGroup(alloc.Job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup));

/** Required instances by plugin (VL-183, VL-184). Empty for a job that was deleted, is stopped or dead. */
export function expectedInstances(tables: Tables, job: Job | undefined): Map<string, ExpectedInstances> {
  const expected = new Map<string, ExpectedInstances>();
  if (!job || job.Stop || job.Status === 'dead') return expected;
  const summary = tables.job_summary.get(namespacedKey(job.Namespace, job.ID));
  for (const group of job.TaskGroups) {
    for (const { CSIPluginConfig: plugin } of group.Tasks) {
      if (!plugin) continue;
      const sides = expected.get(plugin.ID) ?? { controllers: null, nodes: null };
      const count = instancesOf(job, group, summary);
      if (plugin.Type !== 'node') sides.controllers = (sides.controllers ?? 0) + count;
      if (plugin.Type !== 'controller') sides.nodes = (sides.nodes ?? 0) + count;
      expected.set(plugin.ID, sides);
    }
  }
  return expected;
}

/** Number of instances. A system job runs on every feasible node, so only its summary has the number. */
function instancesOf(job: Job, group: TaskGroup, summary: JobSummary | undefined): number {
  if (job.Type !== 'system') return group.Count;
  const counters = summary?.Summary[group.Name];
  return counters ? counters.Running + counters.Queued + counters.Starting : 0;
}

/** The plugin with the instances that this job requires now. */
export function withJob(plugin: CSIPlugin, job: Pick<Job, 'Namespace' | 'ID'>, sides?: ExpectedInstances): CSIPlugin {
  return {
    ...plugin,
    ControllerJobs: withEntry(plugin.ControllerJobs, job, sides?.controllers ?? null),
    NodeJobs: withEntry(plugin.NodeJobs, job, sides?.nodes ?? null),
  };
}

/** The plugin without jobs that were deleted or implement it no more (VL-191). O(jobs of the plugin). */
export function withoutStaleJobs(tables: Tables, plugin: CSIPlugin): CSIPlugin {
  let current = plugin;
  for (const entry of [...entriesOf(plugin.ControllerJobs), ...entriesOf(plugin.NodeJobs)]) {
    const job = tables.jobs.get(namespacedKey(entry.Namespace, entry.ID));
    current = withJob(current, entry, expectedInstances(tables, job).get(plugin.ID));
  }
  return {
    ...current,
    ControllersExpected: expectedIn(current.ControllerJobs),
    NodesExpected: expectedIn(current.NodeJobs),
  };
}

export const expectedIn = (jobs: CSIPluginJobs): number =>
  entriesOf(jobs).reduce((sum, { Expected }) => sum + Expected, 0);

export const isNobodys = (jobs: CSIPluginJobs): boolean => entriesOf(jobs).length === 0;

const entriesOf = (jobs: CSIPluginJobs): CSIPluginJob[] => Object.values(jobs).flatMap((ofNs) => Object.values(ofNs));

/** The jobs with this entry; the same object if nothing changes. A namespace without jobs has no entry. */
function withEntry(
  jobs: CSIPluginJobs,
  { Namespace, ID }: Pick<Job, 'Namespace' | 'ID'>,
  count: number | null,
): CSIPluginJobs {
  const { [Namespace]: ofNamespace = {}, ...others } = jobs;
  const { [ID]: stored, ...rest } = ofNamespace;
  if ((stored?.Expected ?? null) === count) return jobs;
  const next = count === null ? rest : { ...rest, [ID]: { Namespace, ID, Expected: count } };
  return Object.keys(next).length === 0 ? others : { ...others, [Namespace]: next };
}
