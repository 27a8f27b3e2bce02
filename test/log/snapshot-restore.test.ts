import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { packArchive, unpackArchive } from '@waybill/model/snapshot-archive';
import { readArchive } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const dir = mkdtempSync(`${tmpdir()}/waybill-snapshot-`);
const file = `${dir}/state.snap`;
const SERVICES = ['projector', 'broker', 'scheduler', 'nodes', 'api', 'agent'] as const;
/** By a test, one after the other. */
const RESTARTED = ['scheduler', 'projector', 'broker'] as const;
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  const archives = {
    WAYBILL_ARCHIVE_DIR: `${dir}/archives`,
    WAYBILL_ARCHIVE_INTERVAL: '1s',
    WAYBILL_ARCHIVE_KEEP: '2',
  };
  waybill = await WaybillProcesses.startTogether(archives, SERVICES, RESTARTED);
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
  );
}, 120_000);
afterAll(async () => {
  await waybill?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Seconds that nothing else sleeps. */
const KEPT_S = 61_233;
const LATER_S = 61_234;
const processesOf = (seconds: number): number => {
  const { stdout } = spawnSync('pgrep', ['-f', `^sleep ${seconds}`], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line !== '').length;
};
const cli = (...words: string[]) => runCli(api.url, ['operator', 'snapshot', ...words]);
const put = (body: Buffer) => api.raw('/v1/operator/snapshot', { method: 'PUT', body });
const jobs = async (at = api) => (await at.get<{ ID: string; Status: string }[]>('/v1/jobs')).map(({ ID }) => ID);
const indexNow = async (at = api) => Number((await at.raw('/v1/jobs')).headers.get('x-nomad-index'));
const status = async (id: string) => (await api.get<{ Status: string }>(`/v1/job/${id}`)).Status;
const isRunning = (id: string, version = 0) =>
  eventually(`${id} runs`, async () =>
    (
      await api.get<{ ClientStatus: string; DesiredStatus: string; JobVersion: number }[]>(`/v1/job/${id}/allocations`)
    ).some((one) => one.ClientStatus === 'running' && one.DesiredStatus === 'run' && one.JobVersion === version),
  );

/** Blocks again and again, and answers what jobs are left when there are two, with the index of that. */
async function twoJobsAfter(index: number): Promise<[string[], number]> {
  for (let seen = index; ;) {
    const answer = await api.raw(`/v1/jobs?index=${seen}&wait=60s`);
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    const left = (await answer.json()) as { ID: string }[];
    const at = Number(answer.headers.get('x-nomad-index'));
    if (left.length === 2) return [left.map(({ ID }) => ID), at];
    expect(at).toBeGreaterThan(seen);
    seen = at;
  }
}

describe('the state of a cluster, saved and brought back', () => {
  it('OP-40, OP-43, OP-44, OP-50: is saved to a file, whole, once', async () => {
    await api.register(shellJob('kept', `exec sleep ${KEPT_S}`));
    await api.register(shellJob('ends', `until [ -e ${dir}/end ]; do sleep 0.1; done`, { type: 'batch' }));
    await Promise.all(['kept', 'ends'].map((id) => isRunning(id)));
    expect(await cli('save', file)).toEqual({ code: 0, out: `State file written to ${file}\n`, err: '' });
    expect(await cli('save', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Destination file already exists: "${file}"`) as unknown,
    });
    const inspected = JSON.parse((await cli('inspect', '-json', file)).out) as object;
    expect(inspected).toMatchObject({ Version: '0.1.0', Tables: { jobs: 2, nodes: 1, allocs: 2 } });
    const { meta, state } = await unpackArchive(readFileSync(file));
    const indexes = (await api.get<{ ModifyIndex: number }[]>('/v1/jobs')).map(({ ModifyIndex }) => ModifyIndex);
    expect(meta).toMatchObject({ TableIndexes: { jobs: Math.max(...indexes) }, EventFloor: 1 });
    expect(meta).not.toHaveProperty('Tables.leases');
    expect(state.toString()).not.toContain('"table":"leases"');
    expect((await cli('inspect', file)).out).toMatch(/^jobs +2$/m);
  });

  it('OP-42, OP-43, OP-45: what is no whole archive of Waybill changes nothing', async () => {
    const before = await indexNow();
    const { meta, state } = await unpackArchive(readFileSync(file));
    const damaged = Buffer.from(readFileSync(file));
    damaged.fill(0xff, damaged.length >> 1, (damaged.length >> 1) + 8);
    for (const [body, status, text] of [
      [damaged, 400, 'failed to restore from snapshot: '],
      [Buffer.from('no archive'), 400, 'not a gzip file'],
      [await packArchive(meta, Buffer.from('{}\n')), 400, 'not a row'],
      [await packArchive({ ...meta, Format: 'raft' }, state), 400, 'not an archive of Waybill'],
      [gzipSync(Buffer.alloc(1024)), 400, 'meta.json is missing'],
    ] as const) {
      const answer = await put(body);
      expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
    }
    expect(await indexNow()).toBe(before);
    writeFileSync(`${dir}/bad.snap`, damaged);
    expect(await cli('restore', `${dir}/bad.snap`)).toMatchObject({ code: 1 });
  });

  it('OP-46, OP-256, EV-71, EV-75, ST-144: is brought back at once, at a higher index, without an event of any object', async () => {
    await api.register(shellJob('later', `exec sleep ${LATER_S}`));
    await isRunning('later');
    expect(processesOf(LATER_S)).toBe(1);
    await api.register({ ...shellJob('kept', `exec sleep ${KEPT_S}`), Meta: { since: 'the archive' } });
    await isRunning('kept', 1);
    writeFileSync(`${dir}/end`, '');
    await eventually('the batch job is over', async () => (await status('ends')) === 'dead');
    const before = await indexNow();
    const blocked = twoJobsAfter(before);
    const stream = await fetch(`${api.url}/v1/event/stream?index=${before + 1}`);
    expect(stream.headers.get('x-waybill-event-restored')).toBeNull();

    expect(await cli('restore', file)).toEqual({
      code: 0,
      out: 'Snapshot Restored\n',
      err: expect.stringContaining('become down') as string,
    });
    expect(await jobs()).toEqual(['ends', 'kept']);
    expect(await api.get('/v1/job/kept')).toMatchObject({ Version: 0, Meta: null });
    const restoredAt = await indexNow();
    expect(restoredAt).toBeGreaterThan(before);
    const [left, leftAt] = await blocked;
    expect(left).toEqual(['ends', 'kept']);
    expect(leftAt).toBeGreaterThan(before);
    const seen = (await stream.text()).split('\n').filter((line) => line.length > 2);

    const again = new AbortController();
    const next = await fetch(`${api.url}/v1/event/stream`, { signal: again.signal });
    const mark = Number(next.headers.get('x-waybill-event-restored'));
    expect(mark).toBeGreaterThan(before);
    expect(mark).toBeLessThanOrEqual(restoredAt);
    for (const line of seen) expect(JSON.parse(line)).not.toMatchObject({ Index: mark });
    again.abort();
  });

  it('OP-42, OP-47: machines and queues go on from it, with what ended since as ended', async () => {
    await eventually('what the state does not know of is ended', () => processesOf(LATER_S) === 0);
    await eventually('what was over is over again', async () => (await status('ends')) === 'dead');
    await isRunning('kept');
    await eventually('it does run', () => processesOf(KEPT_S) === 1);
    await api.register(shellJob('afterwards', 'exec sleep 600'));
    await isRunning('afterwards');
  });

  it('OP-48, ST-8: whoever begins anew reads the restore as everybody did', async () => {
    for (const name of RESTARTED) {
      await waybill.kill(name);
      await waybill.startService(name);
    }
    await api.register(shellJob('anew', 'exec sleep 600'));
    await isRunning('anew');
    expect(await jobs()).toEqual(['afterwards', 'anew', 'ends', 'kept']);
  });

  it('OP-257: one that was taken while the broker was paused brings the pause back', async () => {
    const pause = async (PauseEvalBroker: boolean): Promise<void> => {
      const path = '/v1/operator/scheduler/configuration';
      const { SchedulerConfig } = await api.get<{ SchedulerConfig: object }>(path);
      const body = JSON.stringify({ ...SchedulerConfig, PauseEvalBroker });
      expect((await api.raw(path, { method: 'PUT', body })).status).toBe(200);
    };
    const paused = `${dir}/paused.snap`;
    await pause(true);
    expect((await cli('save', paused)).code).toBe(0);
    await pause(false);
    expect((await cli('restore', paused)).code).toBe(0);
    const { EvalID } = await api.register(shellJob('waits', 'exec sleep 600'));
    const EvalIDs = ['00000000-0000-4000-8000-000000000000'];
    const refused = await api.raw('/v1/evaluations', { method: 'DELETE', body: JSON.stringify({ EvalIDs }) });
    expect(await refused.text()).toBe('eval not found'); // and not that the broker hands them out
    expect(await api.get(`/v1/evaluation/${EvalID}`)).toMatchObject({ Status: 'pending' });
    await pause(false);
    await isRunning('waits');
    await api.stop('waits', true);
  });

  it('OP-258: among many writes, an archive has all of its index and nothing of a later one', async () => {
    const writes = Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        api.register({ ...shellJob(`many-${n}`, 'true'), Datacenters: ['nowhere'] }),
      ),
    );
    await eventually('the first are there', async () => (await jobs()).some((id) => id.startsWith('many-')));
    const [saved] = await Promise.all([cli('save', `${dir}/many.snap`), writes]);
    expect(saved).toMatchObject({ code: 0 });
    const { meta, state } = await unpackArchive(readFileSync(`${dir}/many.snap`));
    const archived = readArchive(state.toString().trimEnd().split('\n'));
    const rows = [...(archived.jobs ?? []), ...(archived.evals ?? []), ...(archived.allocs ?? [])];
    for (const { ModifyIndex } of rows) expect(ModifyIndex).toBeLessThanOrEqual(meta.Index);
    const stored = await api.get<{ ID: string; CreateIndex: number }[]>('/v1/jobs');
    const until = stored.filter(({ CreateIndex }) => CreateIndex <= meta.Index).map(({ ID }) => ID);
    expect(archived.jobs?.map(({ ID }) => ID).toSorted()).toEqual(until);
    expect(meta.Tables['jobs']).toBe(until.length);
    await Promise.all(stored.flatMap(({ ID }) => (ID.startsWith('many-') ? [api.stop(ID, true)] : [])));
  });

  it('OP-259: a save that the disk has no room for leaves nothing, a restore of half a file changes nothing', async () => {
    const target = `${dir}/no-room.snap`;
    const waybillJs = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
    const line = `ulimit -f 1; exec "${process.execPath}" "${waybillJs}" operator snapshot save "${target}"`;
    const env = { PATH: process.env['PATH'], WAYBILL_ADDR: api.url };
    const { status: code, stderr } = spawnSync('bash', ['-c', line], { env, encoding: 'utf8' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('file too large')]);
    expect(readdirSync(dir).filter((name) => name.startsWith('no-room'))).toEqual([]);

    const before = await indexNow();
    const whole = readFileSync(file);
    writeFileSync(`${dir}/half.snap`, whole.subarray(0, whole.length / 2));
    expect(await cli('restore', `${dir}/half.snap`)).toMatchObject({ code: 1, out: '' });
    expect((await put(whole.subarray(0, whole.length / 2))).status).toBe(400);
    expect(await indexNow()).toBe(before);
  });

  it('OP-49: archives are put away by themselves, of which the newest are kept', async () => {
    const wanted = await indexNow();
    const there = (await jobs()).length;
    const newest = await eventually('one that has it all', async () => {
      const names = readdirSync(`${dir}/archives`).filter((name) => name.endsWith('.snap'));
      const metas = await Promise.all(
        names.map(async (name) => (await unpackArchive(readFileSync(`${dir}/archives/${name}`))).meta),
      );
      return names.length === 2 && metas.find(({ Index }) => Index >= wanted);
    });
    expect(newest.Tables).toMatchObject({ jobs: there, nodes: 1 });
  });

  it('OP-46, ST-1: in a new cluster no index is given out that the old one has given out', async () => {
    const archived = (await unpackArchive(readFileSync(file))).meta.Index;
    const fresh = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'api']);
    try {
      expect((await runCli(fresh.api.url, ['operator', 'snapshot', 'restore', file])).code).toBe(0);
      expect(await jobs(fresh.api)).toEqual(['ends', 'kept']);
      const { CreateIndex } = await fresh.api.get<{ CreateIndex: number }>('/v1/job/kept');
      expect(CreateIndex).toBeLessThan(archived);
      await fresh.api.register(shellJob('new', 'true'));
      expect((await fresh.api.get<{ CreateIndex: number }>('/v1/job/new')).CreateIndex).toBeGreaterThan(archived);
    } finally {
      await fresh.stop();
    }
  }, 120_000);
});
