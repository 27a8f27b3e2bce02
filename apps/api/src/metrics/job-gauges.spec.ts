import type { JobWithSummary } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { JobGauges } from './job-gauges.js';

const counts = { Queued: 0, Complete: 0, Failed: 0, Running: 1, Starting: 0, Lost: 0, Unknown: 0 };
const job = (ID: string, ParentID: string, Dispatched: boolean): JobWithSummary => {
  const at = { CreateIndex: 1, ModifyIndex: 1 };
  return {
    job: fixtures.aJob({ ID, ParentID, Dispatched }),
    summary: { JobID: ID, Namespace: 'default', Summary: { g: counts }, Children: null, ...at },
  };
};
const rows = [job('etl', '', false), job('etl/dispatch-17-ab', 'etl', true), job('etl/periodic-18', 'etl', false)];
const model = {
  jobStatusCounts: () => Promise.resolve({ pending: 0, running: 3, dead: 0 }),
  jobs: () => Promise.resolve({ rows, index: 1, nextToken: '' }),
};

const running = async (dispatched: boolean) =>
  (await new JobGauges(model, { host: 'h' }, dispatched).readGauges())
    .filter(({ name }) => name === 'nomad.nomad.job_summary.running')
    .map(({ labels }) => labels);

it('OP-104: the groups of a job, with its parent and what made it where it is a child', async () => {
  const group = { namespace: 'default', task_group: 'g', host: 'h' };
  expect(await running(true)).toEqual([
    { job: 'etl', ...group },
    { job: 'etl/dispatch-17-ab', parent_id: 'etl', dispatch_id: '17-ab', ...group },
    { job: 'etl/periodic-18', parent_id: 'etl', periodic_id: '18', ...group },
  ]);
});

it('OP-105: disable_dispatched_job_summary_metrics leaves out what was dispatched, and nothing else', async () => {
  expect((await running(false)).map(({ job: id }) => id)).toEqual(['etl', 'etl/periodic-18']);
});
