import { expect, it } from 'vitest';
import { type JobAcl, policiesOfWorkload } from './workload-policies.js';

const jobAcl = (Namespace: string, JobID = '', Group = '', Task = ''): JobAcl => ({ Namespace, JobID, Group, Task });
const app = { namespace: 'default', jobId: 'app', group: 'api', task: 'server' };
const gets = (JobACL: JobAcl | null, workload: Parameters<typeof policiesOfWorkload>[1] = app): boolean =>
  policiesOfWorkload([{ JobACL }], workload).length === 1;

it.each<[string, JobAcl | null, boolean]>([
  ['its namespace alone', jobAcl('default'), true],
  ['its job', jobAcl('default', 'app'), true],
  ['its group', jobAcl('default', 'app', 'api'), true],
  ['its task', jobAcl('default', 'app', 'api', 'server'), true],
  ['nothing', null, false],
  ['another namespace', jobAcl('other'), false],
  ['its job in another namespace', jobAcl('other', 'app'), false],
  ['another job', jobAcl('default', 'web'), false],
  ['another group', jobAcl('default', 'app', 'db'), false],
  ['another task', jobAcl('default', 'app', 'api', 'log'), false],
  ['a group without job', jobAcl('default', '', 'api'), false],
  ['a task without group', jobAcl('default', 'app', '', 'server'), false],
])('OP-138: a policy that names %s', (_, JobACL, expected) => {
  expect(gets(JobACL)).toBe(expected);
});

it('OP-138, AU-176, AU-330: the job is compared as it is, never by prefix', () => {
  expect(gets(jobAcl('default', 'app'), { ...app, jobId: 'app-2' })).toBe(false);
  expect(gets(jobAcl('default', 'app-2'))).toBe(false);
  expect(gets(jobAcl('default', 'APP'))).toBe(false);
});

it('OP-138: the identity of a service gets no policy of a task', () => {
  const service = { ...app, task: undefined };
  expect(gets(jobAcl('default', 'app', 'api'), service)).toBe(true);
  expect(gets(jobAcl('default', 'app', 'api', 'server'), service)).toBe(false);
});
