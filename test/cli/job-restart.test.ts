import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Allocation, AllocListStub, Evaluation, Node } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { hasPseudoTerminal, PseudoTerminal } from '../support/pseudo-terminal.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  await waybill.startService('agent', 'agent-2', {
    WAYBILL_AGENT_DIR: path.join(waybill.dir, 'agent-2'),
    WAYBILL_NODE_NAME: 'test-node-2',
  });
  api = waybill.api;
});
afterAll(() => waybill?.stop());

/** `waybill job restart …` as a script runs it: nobody is at a terminal. */
async function restart(...words: string[]): Promise<{ code: unknown; out: string; err: string }> {
  const child = spawn(process.execPath, [BIN, 'job', 'restart', ...words], {
    env: { PATH: '', WAYBILL_ADDR: api.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => (out += String(data)));
  child.stderr.on('data', (data) => (err += String(data)));
  const [code] = (await once(child, 'close')) as unknown[];
  return { code, out, err };
}

const allocations = (job: string) => api.get<AllocListStub[]>(`/v1/job/${job}/allocations?all=true`);
const running = async (job: string) =>
  (await allocations(job)).filter((alloc) => alloc.ClientStatus === 'running' && alloc.DesiredStatus === 'run');
const restarts = async (job: string) =>
  (await allocations(job)).map((alloc) => alloc.TaskStates?.['task']?.Restarts ?? 0);

const total = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0);

/** Registers a job without deployments, and waits until so many of it run. */
async function runs(id: string, count: number, other: { type?: string; tasks?: readonly object[] } = {}) {
  const size = other.type === undefined ? { count } : { type: other.type };
  const job = shellJob(id, 'exec sleep 1000', size) as { TaskGroups: { Tasks: object[]; Update?: object }[] };
  for (const group of job.TaskGroups) {
    if (other.type !== 'sysbatch') group.Update = { MaxParallel: 0 };
    group.Tasks = other.tasks?.map((task) => ({ ...group.Tasks[0], ...task })) ?? group.Tasks;
  }
  await api.register(job);
  await eventually(`${count} of ${id} run`, async () => (await running(id)).length === count);
}

describe('job restart, in place', () => {
  it('CL-335, JR-207, JR-401, JR-551, JR-555, JR-557, JR-958: batches by percent; the same allocations run again', async () => {
    await runs('web', 3);
    const before = await running('web');
    const { code, out, err } = await restart('-batch-size=50%', '-on-error=fail', 'we');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /Restarting 3 allocations\n.*1st batch of 2 allocations\n(.*\n){2}.*2nd batch of 1 allocations\n/,
    );
    expect(out.endsWith('Job restart finished\n\nJob restarted successfully!\n')).toBe(true);
    const after = await eventually('all run again', async () => {
      const all = await running('web');
      return all.length === 3 && all.every((alloc) => alloc.TaskStates?.['task']?.LastRestart) && all;
    });
    expect(after.map(({ ID }) => ID)).toEqual(before.map(({ ID }) => ID));
    for (const { TaskStates } of after) {
      const { Restarts, Events } = TaskStates!['task']!;
      expect(Restarts).toBe(1);
      expect(Events.find(({ Type }) => Type === 'Restart Signaled')).toMatchObject({
        DisplayMessage: 'User requested running tasks to restart',
      });
    }
  });

  it('JR-552, JR-554, JR-955, JR-E12: a finished prestart task runs again with -all-tasks, and cannot be restarted by itself', async () => {
    const prepared = { Hook: 'prestart', Sidecar: false };
    const prepare = { Name: 'prepare', Lifecycle: prepared, Config: { command: '/bin/true' } };
    await runs('prepared', 1, { tasks: [prepare, { Name: 'main' }] });
    await eventually('the preparation has ended', async () =>
      (await running('prepared')).some((alloc) => alloc.TaskStates?.['prepare']?.State === 'dead'),
    );
    const alone = await restart('-task=prepare', '-on-error=fail', 'prepared');
    expect(alone.code).toBe(1);
    expect(alone.err).toContain('Failed to restart task "prepare": Unexpected response code: 409 (Task not running)');
    expect((await restart('-task=nothing', '-on-error=fail', '-verbose', 'prepared')).out).toMatch(
      /Skipping allocation "[0-9a-f-]{36}" because it doesn't have any of requested tasks\nNo allocations to restart\n$/,
    );
    expect((await restart('-all-tasks', '-on-error=fail', 'prepared')).code).toBe(0);
    await eventually('the preparation ran twice', async () => {
      const [alloc] = await running('prepared');
      const events = alloc?.TaskStates?.['prepare']?.Events ?? [];
      return events.filter(({ Type }) => Type === 'Started').length === 2;
    });
  });

  it('JR-101, JR-102, JR-108, JR-201, JR-204: what is wrong is said on stderr, with exit 1', async () => {
    expect(await restart()).toEqual({
      code: 1,
      out: '',
      err: "This command takes one argument: <job>\nFor additional help try 'waybill job restart -help'\n",
    });
    expect((await restart('web')).err).toBe(
      'Invalid -on-error value "ask": "ask" cannot be used when terminal is not interactive\n' +
        "For additional help try 'waybill job restart -help'\n",
    );
    expect(await restart('-yes', 'nothing')).toEqual({
      code: 1,
      out: '',
      err: 'No job(s) with prefix or ID "nothing" found\n',
    });
  });

  it('JR-307, JR-E14: nothing to do is no failure', async () => {
    expect(await restart('-yes', '-group=other', 'web')).toEqual({
      code: 0,
      out: 'No allocations to restart\n',
      err: '',
    });
  });

  it('JR-404, JR-E10: a deployment that waits for its promotion keeps everything as it is', async () => {
    const update = (line: string) => {
      const job = shellJob('canary', line) as { TaskGroups: object[] };
      Object.assign(job.TaskGroups[0]!, { Update: { MaxParallel: 1, Canary: 1, MinHealthyTime: 0 } });
      return job;
    };
    await api.register(update('exec sleep 1000'));
    await eventually('the first version stands', async () => {
      const [deployment] = await api.get<{ Status: string }[]>('/v1/job/canary/deployments');
      return deployment?.Status === 'successful';
    });
    await api.register(update('exec sleep 1001'));
    await eventually('the canary runs', async () => (await running('canary')).length === 2);
    const { code, err } = await restart('-yes', 'canary');
    expect(code).toBe(1);
    expect(err).toMatch(/\* Deployment "[0-9a-f]{8}" is "running"\n$/);
    expect(await restarts('canary')).toEqual([0, 0]);
  });
});

describe('job restart -reschedule', () => {
  it('JR-605, JR-606, JR-962, JR-964, JR-968, SC-269: each is stopped and replaced, linked both ways, no attempt counted', async () => {
    await runs('moved', 2);
    const before = await running('moved');
    const { code, out } = await restart('-reschedule', '-yes', 'moved');
    expect([code, out.match(/replaced by/g)?.length, out.match(/is "running"\n/g)?.length]).toEqual([0, 2, 2]);
    const after = await running('moved');
    expect(after).toHaveLength(2);
    for (const old of before) {
      const { NextAllocation, DesiredTransition } = await api.get<Allocation>(`/v1/allocation/${old.ID}`);
      expect(DesiredTransition).toMatchObject({ Migrate: true });
      const next = await api.get<Allocation>(`/v1/allocation/${NextAllocation}`);
      expect(next).toMatchObject({ PreviousAllocation: old.ID, Name: old.Name });
      expect(next.RescheduleTracker ?? null).toBeNull();
    }
    const triggers = (await api.get<Evaluation[]>('/v1/job/moved/evaluations')).map((e) => e.TriggeredBy);
    expect(triggers.filter((trigger) => trigger === 'alloc-stop')).toHaveLength(2);
    expect(await api.get('/v1/job/moved/deployments?all=true')).toEqual([]);
    // What was replaced before is not touched again.
    const again = await restart('-yes', '-verbose', '-batch-size=100%', 'moved');
    expect(again.out).toMatch(/Restarting 2 allocations\n.*1st batch of 2 allocations\n/);
    expect(again.out.match(/Skipping allocation/g)).toHaveLength(2);
  });

  it('JR-603, JR-607, JR-966: a system job on two nodes, both at the same time', async () => {
    await runs('everywhere', 2, { type: 'system' });
    const before = await running('everywhere');
    const { code, out } = await restart('-reschedule', '-batch-size=100%', '-yes', 'everywhere');
    expect([code, out.match(/is "running"\n/g)?.length]).toEqual([0, 2]);
    const after = await running('everywhere');
    expect(new Set(after.map(({ NodeID }) => NodeID))).toEqual(new Set(before.map(({ NodeID }) => NodeID)));
    const all = await allocations('everywhere');
    for (const old of before) expect(all.find(({ ID }) => ID === old.ID)?.NextAllocation).not.toBe('');
  });

  it('JR-206, JR-E02: sysbatch is refused, and nothing is stopped', async () => {
    await runs('sweep', 2, { type: 'sysbatch' });
    const refused = await restart('-reschedule', '-yes', 'sweep');
    expect([refused.code, refused.err]).toEqual([1, 'Jobs of type "sysbatch" are not allowed to be rescheduled.\n']);
    expect(await running('sweep')).toHaveLength(2);
  });

  it('JR-701, JR-704, JR-965, JR-E06: no node for the replacement: said why, and the rest is left alone', async () => {
    await runs('stuck', 3);
    const nodes = await api.get<Node[]>('/v1/nodes');
    const eligibility = (to: string) =>
      Promise.all(
        nodes.map(({ ID }) =>
          api.raw(`/v1/node/${ID}/eligibility`, { method: 'PUT', body: JSON.stringify({ Eligibility: to }) }),
        ),
      );
    await eligibility('ineligible');
    const { code, out, err } = await restart('-reschedule', '-batch-size=2', '-yes', 'stuck');
    await eligibility('eligible');
    expect(code).toBe(1);
    expect(out).toContain('Stopping job restart due to unrecoverable error\n');
    expect(err).toMatch(
      /^\n2 errors occurred while restarting job:\n\* Error restarting allocation .* has placement failures for group "group":\n {4}\* No nodes were eligible for evaluation\n/,
    );
    expect(out.match(/Rescheduling allocation/g)).toHaveLength(2);
  });
});

describe.skipIf(!hasPseudoTerminal)('job restart on a terminal (needs `script` of util-linux)', () => {
  const start = (...words: string[]) =>
    PseudoTerminal.start([process.execPath, BIN, 'job', 'restart', ...words], { WAYBILL_ADDR: api.url });

  it('JR-106, JR-502, JR-505, JR-506, JR-E18: asked between batches, until a pause is the answer', async () => {
    await runs('asked', 3);
    const terminal = start('-batch-wait=ask', 'asked');
    const question = 'Proceed with the next batch? [Y/n/<wait duration>] ';
    const at = await terminal.shows(question);
    terminal.enter('x');
    await terminal.shows(question, await terminal.shows('Invalid answer "x"', at));
    terminal.enter('1s');
    await terminal.shows('Proceeding restarts with new wait time of 1s');
    expect(await terminal.exit()).toBe(0);
    expect(terminal.screen.match(/Waiting 1s before/g)).toHaveLength(2);
    expect(terminal.screen).toContain('Job restarted successfully!');
  });

  it('JR-507, JR-508: Ctrl-C at a question is a no', async () => {
    await runs('declined', 2);
    const terminal = start('-batch-wait=ask', 'declined');
    await terminal.shows('Proceed with the next batch?');
    terminal.ctrlC();
    await terminal.shows('Job restart canceled');
    expect(await terminal.exit()).toBe(0);
    await eventually('one was restarted', async () => total(await restarts('declined')) === 1);
  });

  it('JR-801, JR-802, JR-803: Ctrl-C in a pause asks; no goes on, yes ends with 0', async () => {
    await runs('interrupted', 3);
    const terminal = start('-batch-wait=3s', 'interrupted');
    await terminal.shows('Waiting 3s before');
    terminal.ctrlC();
    const question = 'Are you sure you want to stop the restart process? [y/N] ';
    const at = await terminal.shows(question, await terminal.shows('Restart interrupted'));
    terminal.enter('n');
    const again = await terminal.shows('Waiting 3s before', at);
    terminal.ctrlC();
    await terminal.shows(question, again);
    terminal.enter('y');
    await terminal.shows('Canceling job restart process', again);
    expect(await terminal.exit()).toBe(0);
    await eventually('two were restarted', async () => total(await restarts('interrupted')) === 2);
  });
});
