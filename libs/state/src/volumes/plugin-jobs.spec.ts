import type { Job, TaskGroup, TaskGroupSummary } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { createTables, namespacedKey, type Tables } from '../machine/tables.js';
import { expectedIn, expectedInstances, isNobodys, pluginsOfGroups, withJob, withoutStaleJobs } from './plugin-jobs.js';

const job = (ID: string, Namespace = 'default') => ({ Namespace, ID });
const entry = (ID: string, Expected: number, Namespace = 'default') => ({ Namespace, ID, Expected });
const JOBS = { default: { a: entry('a', 2), b: entry('b', 3) }, other: { c: entry('c', 1, 'other') } };
const plugin = fixtures.aCSIPlugin({ ID: 'disk', ControllerJobs: {}, NodeJobs: JOBS });

describe('the jobs of a plugin', () => {
  it.each([
    ['a job that it does not have and that runs nothing', job('z'), null],
    ['a job of a namespace that it does not have', job('a', 'third'), null],
    ['a job with as many instances as before', job('a'), 2],
  ])('are the very same objects after %s', (_, of, nodes) => {
    const after = withJob(plugin, of, { controllers: null, nodes });
    expect(after.NodeJobs).toBe(plugin.NodeJobs);
    expect(after.ControllerJobs).toBe(plugin.ControllerJobs);
  });

  it('VL-183: a job counts on the side on which it runs, zero instances too', () => {
    const after = withJob(plugin, job('a'), { controllers: 0, nodes: 4 });
    expect(after.ControllerJobs).toEqual({ default: { a: entry('a', 0) } });
    expect(after.NodeJobs).toEqual({ ...JOBS, default: { ...JOBS.default, a: entry('a', 4) } });
    expect([expectedIn(after.ControllerJobs), expectedIn(after.NodeJobs)]).toEqual([0, 8]);
  });

  it('VL-191: a job without instances is left out, and so is its namespace after its last job', () => {
    expect(withJob(plugin, job('a')).NodeJobs).toEqual({ ...JOBS, default: { b: JOBS.default.b } });
    expect(withJob(plugin, job('c', 'other')).NodeJobs).toEqual({ default: JOBS.default });
  });
});

type PluginType = 'node' | 'controller' | 'monolith';
const ofPlugin = (ID: string, Type: PluginType) =>
  fixtures.aTask({
    CSIPluginConfig: { ID, Type, MountDir: '', StagePublishBaseDir: '', HealthTimeout: 0 },
  });
const group = (Name: string, Count: number, ...types: PluginType[]): TaskGroup =>
  fixtures.aGroup({ Name, Count, Tasks: [fixtures.aTask(), ...types.map((type) => ofPlugin('disk', type))] });
const running = (ID: string, Type: string, ...TaskGroups: TaskGroup[]): Job =>
  fixtures.aJob({ ID, Type, Status: 'running', TaskGroups });
const NONE = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 };

/** @param counters of the group `web` of the job `a` */
function tablesOf(jobs: readonly Job[], counters?: Partial<TaskGroupSummary>): Tables {
  const tables = createTables();
  for (const one of jobs) tables.jobs.replace(namespacedKey(one.Namespace, one.ID), one);
  const summary = { JobID: 'a', Namespace: 'default', Children: null, CreateIndex: 0, ModifyIndex: 0 };
  if (counters)
    tables.job_summary.replace(namespacedKey('default', 'a'), {
      ...summary,
      Summary: { web: { ...NONE, ...counters } },
    });
  return tables;
}

describe('VL-183 VL-184: instances that a job is to run of a plugin', () => {
  const sidesOf = (job: Job | undefined, counters?: Partial<TaskGroupSummary>) =>
    expectedInstances(tablesOf([], counters), job).get('disk');

  it.each([
    ['node', { controllers: null, nodes: 5 }],
    ['controller', { controllers: 5, nodes: null }],
    ['monolith', { controllers: 5, nodes: 5 }],
  ] as const)('of type %s: the sum over its groups', (type, wanted) => {
    expect(sidesOf(running('a', 'service', group('web', 2, type), group('api', 3, type)))).toEqual(wanted);
  });

  it('a system job: those that run, start and wait; none before it has a summary', () => {
    const job = running('a', 'system', group('web', 9, 'node'));
    expect(sidesOf(job, { Running: 5, Queued: 2, Starting: 1, Failed: 7 })?.nodes).toBe(8);
    expect(sidesOf(job)?.nodes).toBe(0);
  });

  it('none of a job that is gone, stopped or dead', () => {
    const job = running('a', 'service', group('web', 2, 'node'));
    for (const one of [undefined, { ...job, Stop: true }, { ...job, Status: 'dead' as const }])
      expect(sidesOf(one)).toBeUndefined();
  });
});

it('VL-191: jobs that are gone are taken out of a plugin, and the others counted as they are now', () => {
  const after = withoutStaleJobs(tablesOf([running('a', 'service', group('web', 4, 'monolith'))]), plugin);
  expect(after.NodeJobs).toEqual({ default: { a: entry('a', 4) } });
  expect([after.ControllersExpected, after.NodesExpected]).toEqual([4, 4]);
});

it('a plugin is nobody’s only without any job', () => {
  expect([isNobodys({}), isNobodys({ default: {} }), isNobodys(JOBS)]).toEqual([true, true, false]);
});

it('the plugins of groups come in the order of their tasks', () => {
  const Tasks = [ofPlugin('a', 'node'), ofPlugin('b', 'node')];
  expect(pluginsOfGroups([{ Tasks }])).toEqual(['a', 'b']);
});
