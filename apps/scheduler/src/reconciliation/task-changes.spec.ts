import { decodeJob } from '@waybill/model';
import { expect, it } from 'vitest';
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
