import { decodeJob, type Job, type Task, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { needsReplacement } from './task-changes.js';

const jobWith = (...Identities: object[]) =>
  decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks: [{ Name: 'main', Driver: 'exec', Identities }] }] });
const AWS = { Name: 'aws', Audience: ['sts'], TTL: 3_600e9 };

it('SC-249: a group or a task that is in only one of the versions replaces the allocation', () => {
  expect(needsReplacement('gone', jobWith(), jobWith())).toBe(true);
  const renamed = jobWith();
  expect(needsReplacement('app', { ...renamed, TaskGroups: [] }, renamed)).toBe(true);
  const [group] = renamed.TaskGroups;
  const [task] = group!.Tasks;
  const withTasks = (...names: string[]) => ({
    ...renamed,
    TaskGroups: [{ ...group!, Tasks: names.map((Name) => ({ ...task!, Name })) }],
  });
  expect(needsReplacement('app', renamed, withTasks('other'))).toBe(true);
  expect(needsReplacement('app', renamed, withTasks('main', 'other'))).toBe(true);
  expect(needsReplacement('app', withTasks('main', 'other'), withTasks('other', 'main'))).toBe(false);
});

it('AU-129, SC-249: a changed identity replaces the allocation, an equal one does not', () => {
  expect(needsReplacement('app', jobWith(AWS), jobWith(AWS))).toBe(false);
  expect(needsReplacement('app', jobWith(AWS), jobWith({ ...AWS, TTL: 60e9 }))).toBe(true);
  expect(needsReplacement('app', jobWith(AWS), jobWith())).toBe(true);
  expect(needsReplacement('app', jobWith(), jobWith({ Env: true }))).toBe(true);
});

it('AU-129, SC-249: so does the identity of a service whose token a task has in a file', () => {
  const served = (service: object, Identity: object | null = { Audience: ['a'], File: true }) => {
    const Services = [{ Name: 'web', Provider: 'nomad', Identity, ...service }];
    const Tasks = [{ Name: 'main', Driver: 'exec', Services }];
    return decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks }] });
  };
  const file = { Audience: ['b'], File: true };
  expect(needsReplacement('app', served({}), served({ Tags: ['new'] }))).toBe(false);
  expect(needsReplacement('app', served({}), served({}, file))).toBe(true);
  expect(needsReplacement('app', served({}), served({ Name: 'other' }))).toBe(true);
  expect(needsReplacement('app', served({}, { Audience: ['a'] }), served({}, null))).toBe(false);
});

describe('a list that is absent in one version and empty in the other', () => {
  const network = fixtures.aNetwork({ ReservedPorts: [], DynamicPorts: [] });
  const withGroup = (over: Partial<TaskGroup>): Job => fixtures.aJob({ TaskGroups: [fixtures.aGroup(over)] });
  const withTask = (over: Partial<Task>): Job => withGroup({ Tasks: [fixtures.aTask(over)] });
  const withResources = (over: Partial<Task['Resources']>): Job =>
    withTask({ Resources: { ...fixtures.aTask().Resources, ...over } });

  it.each<[string, Job, Job]>([
    ['volumes', withGroup({ Volumes: null }), withGroup({ Volumes: {} })],
    ['networks', withGroup({ Networks: null }), withGroup({ Networks: [] })],
    [
      'reserved ports',
      withGroup({ Networks: [{ ...network, ReservedPorts: null }] }),
      withGroup({ Networks: [network] }),
    ],
    [
      'dynamic ports',
      withGroup({ Networks: [{ ...network, DynamicPorts: null }] }),
      withGroup({ Networks: [network] }),
    ],
    ['the mode', withGroup({ Networks: [{ ...network, Mode: '' }] }), withGroup({ Networks: [network] })],
    ['environment', withTask({ Env: null }), withTask({ Env: {} })],
    ['artifacts', withTask({ Artifacts: null }), withTask({ Artifacts: [] })],
    ['secrets', withTask({ Secrets: null }), withTask({ Secrets: [] })],
    ['templates', withTask({ Templates: null }), withTask({ Templates: [] })],
    ['mounts', withTask({ VolumeMounts: null }), withTask({ VolumeMounts: [] })],
    ['identities', withTask({ Identities: null }), withTask({ Identities: [] })],
    ['networks of a task', withResources({ Networks: null }), withResources({ Networks: [] })],
    ['devices', withResources({ Devices: null }), withResources({ Devices: [] })],
  ])('SC-249: is no reason to replace: %s', (_, absent, empty) => {
    expect([needsReplacement('web', absent, empty), needsReplacement('web', empty, absent)]).toEqual([false, false]);
  });
});
