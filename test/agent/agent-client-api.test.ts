import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Allocation, Evaluation, Node, TaskState } from '@waybill/model';
import type { AllocResourceUsage, HostStats, NodeMetaResponse } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const CLI = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const NOBODY = '00000000-0000-4000-8000-000000000000';

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(() => waybill?.stop());

const read = (id: string): Promise<Allocation> => api.get<Allocation>(`/v1/allocation/${id}`);

/** Registers a job of one task and waits until it runs. */
async function running(id: string, line: string, extra: Parameters<typeof shellJob>[2] = {}): Promise<Allocation> {
  await api.register(shellJob(id, line, extra));
  return eventually(`${id} runs`, async () => {
    const [alloc] = await api.get<Allocation[]>(`/v1/job/${id}/allocations`);
    return alloc?.ClientStatus === 'running' && read(alloc.ID);
  });
}

const put = async (path: string, body?: unknown): Promise<{ status: number; text: string }> => {
  const init = { method: 'PUT', ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = await api.raw(path, init);
  return { status: answer.status, text: await answer.text() };
};

const taskOf = async (alloc: Allocation): Promise<TaskState> => (await read(alloc.ID)).TaskStates['task']!;
const log = async (alloc: Allocation): Promise<string> =>
  (await api.raw(`/v1/client/fs/logs/${alloc.ID}?task=task&type=stdout&plain=true`)).text();
const cli = (...words: string[]): string =>
  execFileSync(process.execPath, [CLI, ...words], { env: { ...process.env, WAYBILL_ADDR: api.url }, encoding: 'utf8' });

describe('usage', () => {
  it('AG-278, AG-330: memory and processor time of the whole process tree, per process, and in alloc status', async () => {
    // A busy child beside the shell.
    const alloc = await running('busy', '(while :; do :; done) & wait');
    const path = `/v1/client/allocation/${alloc.ID}/stats`;
    const usage = await eventually('both processes use something', async () => {
      const found = await api.get<AllocResourceUsage>(path);
      return (
        Object.keys(found.Tasks['task']?.Pids ?? {}).length === 2 && found.ResourceUsage.CpuStats.Percent > 5 && found
      );
    });
    const { MemoryStats, CpuStats } = usage.ResourceUsage;
    expect(MemoryStats.RSS).toBeGreaterThan(500_000);
    expect(MemoryStats.Measured).toContain('RSS');
    expect(CpuStats.TotalTicks).toBeGreaterThan(0);
    expect(usage.Tasks['task']!.ResourceUsage).toEqual(usage.ResourceUsage);
    const [leader] = Object.keys(usage.Tasks['task']!.Pids!)
      .map(Number)
      .toSorted((a, b) => a - b);
    expect(readFileSync(`/proc/${leader}/environ`, 'utf8')).toContain('NOMAD_JOB_ID=busy');
    const shown = cli('alloc', 'status', '-stats', alloc.ID);
    expect(shown).toMatch(/\d+\/20 MHz {2}[\d.]+ [KM]iB\/16 MiB/);
    expect(shown).toContain('Memory Stats');
    await api.stop('busy');
    await eventually('nothing is used any more', async () => {
      const after = await api.get<AllocResourceUsage>(path);
      return Object.keys(after.Tasks).length === 0 && after.ResourceUsage.MemoryStats.RSS === 0;
    });
  });

  it('API-199, ND-23: usage of a machine that has no address of its own, by the servers; and what is unknown', async () => {
    const [node] = await api.get<{ ID: string }[]>('/v1/nodes');
    expect(await api.get(`/v1/node/${node!.ID}`)).toMatchObject({ HTTPAddr: '', Status: 'ready' });
    const host = await api.get<HostStats>(`/v1/client/stats?node_id=${node!.ID}`);
    expect(host.Memory.Total).toBeGreaterThan(host.Memory.Used);
    expect(host.CPU.length).toBeGreaterThan(0);
    expect(host.DiskStats[0]!.Size).toBeGreaterThan(0);
    expect(host.Uptime).toBeGreaterThan(0);
    const text = async (path: string) => {
      const answer = await api.raw(path);
      return [answer.status, await answer.text()];
    };
    expect(await text('/v1/client/stats')).toEqual([400, 'No local Node and node_id not provided']);
    expect(await text(`/v1/client/stats?node_id=${NOBODY}`)).toEqual([404, `Unknown node ${NOBODY}`]);
    expect(await text(`/v1/client/allocation/${NOBODY}/stats`)).toEqual([404, `Unknown allocation "${NOBODY}"`]);
  });
});

describe('metadata of a machine', () => {
  it('AG-27, AG-332: what is set is in the node that the servers know, until it is taken away', async () => {
    const [node] = await api.get<{ ID: string }[]>('/v1/nodes');
    const path = `/v1/client/metadata?node_id=${node!.ID}`;
    const known = async () => (await api.get<Node>(`/v1/node/${node!.ID}`)).Meta;
    const before = await api.get<NodeMetaResponse>(path);
    const apply = (body: unknown) => api.raw(path, { method: 'POST', body: JSON.stringify(body) });
    const answer = await apply({ NodeID: node!.ID, Meta: { 'rack.row': '7' } });
    expect(await answer.json()).toEqual({
      Meta: { ...before.Static, 'rack.row': '7' },
      Dynamic: { 'rack.row': '7' },
      Static: before.Static,
    });
    await eventually('the servers know it', async () => (await known())?.['rack.row'] === '7');
    await apply({ Meta: { 'rack.row': null } });
    await eventually('the servers know that it is gone', async () => !('rack.row' in ((await known()) ?? {})));
    for (const [body, text] of [
      [{}, 'missing required Meta object'],
      [{ Meta: { 'no key': 'x' } }, 'invalid metadata key: "no key"'],
    ] as const) {
      const refused = await apply(body);
      expect([refused.status, await refused.text()]).toEqual([400, text]);
    }
  });
});

describe('restart and signal', () => {
  it('AG-160, API-195, JR-994: answered when the old process has ended; a new one runs', async () => {
    const alloc = await running('again', 'echo $$; exec sleep 600');
    const first = await eventually('the first pid', async () => Number((await log(alloc)).trim()));
    expect(await put(`/v1/client/allocation/${alloc.ID}/restart`)).toEqual({ status: 200, text: '{"Index":0}' });
    expect(() => readFileSync(`/proc/${first}/stat`)).toThrow();
    const pids = await eventually('a second pid', async () => {
      const lines = (await log(alloc)).trim().split('\n');
      return lines.length === 2 && lines;
    });
    expect(pids[1]).not.toBe(pids[0]);
    const state = await eventually('it is reported', async () => {
      const now = await taskOf(alloc);
      return now.Restarts === 1 && now.State === 'running' && now;
    });
    expect(state.Events.slice(-4).map((event) => event.Type)).toEqual([
      'Restart Signaled',
      'Terminated',
      'Restarting',
      'Started',
    ]);
    expect(cli('alloc', 'restart', alloc.ID, 'task')).toBe('');
    await eventually('restarted again', async () => (await taskOf(alloc)).Restarts === 2);
  });

  it('AG-163, API-195: what a restart refuses', async () => {
    const alloc = await running('stubborn', 'exec sleep 600');
    const restart = (body: object) => put(`/v1/client/allocation/${alloc.ID}/restart`, body);
    expect(await restart({ TaskName: 'task', AllTasks: true })).toEqual({
      status: 400,
      text: 'task name cannot be set when restarting all tasks',
    });
    expect(await restart({ TaskName: 'x' })).toEqual({
      status: 404,
      text: 'Could not find task runner for task: x',
    });
    expect((await restart([])).status).toBe(400);
    expect((await api.raw(`/v1/client/allocation/${alloc.ID}/restart`)).status).toBe(405);
    await api.stop('stubborn');
    await eventually('it is complete', async () => (await read(alloc.ID)).ClientStatus === 'complete');
    expect(await restart({})).toEqual({ status: 409, text: 'restart of an alloc that should not run' });
    expect(await put(`/v1/client/allocation/${NOBODY}/restart`)).toEqual({
      status: 404,
      text: `Unknown allocation "${NOBODY}"`,
    });
  });

  it('AG-165, AG-258, API-196: a signal reaches the process; an unknown one is SIGINT', async () => {
    const line = 'trap "echo usr1" USR1; trap "echo int" INT; echo up; while :; do sleep 0.1; done';
    const alloc = await running('listener', line);
    await eventually('its traps are set', async () => (await log(alloc)) === 'up\n');
    const signal = (body: unknown) => put(`/v1/client/allocation/${alloc.ID}/signal`, body);
    expect(await signal({ Task: 'task', Signal: 'SIGUSR1' })).toEqual({ status: 200, text: '{"Index":0}' });
    await eventually('usr1', async () => (await log(alloc)) === 'up\nusr1\n');
    expect(cli('alloc', 'signal', '-s', 'NONSENSE', alloc.ID)).toBe('');
    await eventually('int', async () => (await log(alloc)) === 'up\nusr1\nint\n');
    await eventually('it is told', async () =>
      (await taskOf(alloc)).Events.some((event) => event.Type === 'Signaling' && event.Details['signal'] === 'SIGUSR1'),
    );
    expect(await signal(undefined)).toMatchObject({
      status: 400,
      text: expect.stringMatching(/^Failed to decode body: /),
    });
    expect(await signal({ Task: 'x', Signal: 'SIGUSR1' })).toEqual({ status: 404, text: 'Task not found' });
    await api.stop('listener');
    await eventually('it is complete', async () => (await read(alloc.ID)).ClientStatus === 'complete');
    expect(await signal({ Task: 'task', Signal: 'SIGUSR1' })).toEqual({ status: 409, text: 'Task not running' });
  });
});

describe('stop', () => {
  it('API-193, AG-53, AG-167: transition and evaluation are one transaction; the allocation is replaced', async () => {
    const alloc = await running('moved', 'trap "sleep 1; exit" INT; while :; do sleep 0.1; done');
    const { status, text } = await put(`/v1/allocation/${alloc.ID}/stop?no_shutdown_delay=true`);
    expect(status).toBe(200);
    const answer = JSON.parse(text) as { EvalID: string; Index: number };
    const evaluation = await api.get<Evaluation>(`/v1/evaluation/${answer.EvalID}`);
    expect(evaluation).toMatchObject({
      TriggeredBy: 'alloc-stop',
      JobID: 'moved',
      Priority: 50,
      Type: 'service',
      CreateIndex: answer.Index,
    });
    const stopped = await eventually('it is stopped', async () => {
      const now = await read(alloc.ID);
      return now.ClientStatus === 'complete' && now;
    });
    expect(stopped.DesiredTransition).toMatchObject({ Migrate: true, NoShutdownDelay: true, Reschedule: false });
    const replacement = await eventually('another runs', async () =>
      (await api.get<Allocation[]>('/v1/job/moved/allocations')).find(
        (other) => other.ID !== alloc.ID && other.ClientStatus === 'running',
      ),
    );
    // AG-53: on the same machine it waits until its predecessor has ended.
    expect((await read(replacement.ID)).PreviousAllocation).toBe(alloc.ID);
    const startedMs = Date.parse((await taskOf(replacement)).StartedAt!);
    expect(startedMs).toBeGreaterThanOrEqual(Date.parse((await taskOf(alloc)).FinishedAt!));
    expect((await put(`/v1/allocation/${alloc.ID}/stop`)).status, 'one that has ended').toBe(200);
    expect(await put(`/v1/allocation/${NOBODY}/stop`)).toEqual({ status: 404, text: 'allocation not found' });
  });
});

describe('collection', () => {
  it('AG-213, AG-214, AG-215: what an ended allocation left goes by request; the servers keep its record', async () => {
    const alive = await running('alive', 'exec sleep 600');
    await api.register(shellJob('done', 'echo hello', { type: 'batch' }));
    const alloc = await eventually('done is complete', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/done/allocations');
      return found?.ClientStatus === 'complete' && found;
    });
    expect(await log(alloc)).toBe('hello\n');
    const refused = 'No such allocation on client, or allocation not eligible for GC';
    expect(await put(`/v1/client/allocation/${alive.ID}/gc`)).toEqual({ status: 409, text: refused });
    const collect = () => put(`/v1/client/allocation/${alloc.ID}/gc`);
    // The agent first has to hear that its last report has arrived.
    await eventually('it is collected', async () => (await collect()).status === 200);
    expect(await collect()).toEqual({ status: 409, text: refused });
    const logs = await api.raw(`/v1/client/fs/logs/${alloc.ID}?task=task&type=stdout&plain=true`);
    expect([logs.status, await logs.text()]).toEqual([404, `state for allocation ${alloc.ID} not found on client`]);
    expect((await put(`/v1/client/allocation/${alloc.ID}/restart`)).status).toBe(404);
    expect(await read(alloc.ID)).toMatchObject({ ClientStatus: 'complete', TaskStates: { task: { State: 'dead' } } });
    expect(await put(`/v1/client/gc?node_id=${alive.NodeID}`)).toEqual({ status: 200, text: '' });
    expect((await taskOf(alive)).State).toBe('running');
  });
});
