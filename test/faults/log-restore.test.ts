import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@waybill/journal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { SyncedCopy } from '../support/power-cut.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, type ServiceName, WaybillProcesses } from '../support/waybill-processes.js';

/** Processes of their own; the others share one, and start anew in it. */
const APART: readonly ServiceName[] = ['api', 'nodes'];
const STARTED_MS = 240_000;
const TEST_MS = 400_000;
/** Seconds that nothing else sleeps. */
const KEPT_S = 71_233;
const SINCE_S = 71_234;
const LOST_S = 71_235;
const VERIFY = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));

const dir = mkdtempSync(`${tmpdir()}/waybill-log-restore-`);
let waybill: WaybillProcesses;
let api: ApiClient;

interface Status {
  readonly LogFirst: number;
  readonly LogLast: number;
  readonly HistoryIndex: number;
  readonly Divergence: string;
  readonly LostCount: number;
  readonly Lost: readonly { readonly Index: number; readonly Objects: readonly { readonly ID: string }[] | null }[];
}

interface ComparedTable {
  readonly table: string;
  readonly differences: number;
  readonly tableIndexes: readonly [number, number] | null;
}

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, [...CONTROL_PLANE, 'agent'], APART);
  api = waybill.api;
}, TEST_MS);
afterAll(async () => {
  await waybill?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const pidsOf = (seconds: number): string[] =>
  spawnSync('pgrep', ['-f', `^sleep ${seconds}`], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line !== '');
const cli = (...words: string[]) => runCli(api.url, ['operator', ...words]);
const status = () => api.get<Status>('/v1/operator/log/status');
const jobIds = async () => (await api.get<{ ID: string }[]>('/v1/jobs')).map(({ ID }) => ID).toSorted();

async function runs(id: string, seconds: number): Promise<number> {
  const { JobModifyIndex } = await api.register(shellJob(id, `exec sleep ${seconds}`));
  await eventually(`${id} runs`, () => pidsOf(seconds).length === 1, STARTED_MS);
  await eventually(
    `${id} is reported`,
    async () =>
      (await api.get<{ ClientStatus: string }[]>(`/v1/job/${id}/allocations`)).some(
        ({ ClientStatus }) => ClientStatus === 'running',
      ),
    STARTED_MS,
  );
  return JobModifyIndex;
}

/** The power goes after `work`, and takes what it wrote; resolves when the API knows. */
async function cutAfter(work: () => Promise<unknown>): Promise<void> {
  const synced = await SyncedCopy.take(waybill.stack.nats, path.join(waybill.dir, 'stack', 'nats'));
  await work();
  await synced.cutPower();
  await eventually('the API knows', async () => (await status()).Divergence !== '', STARTED_MS);
}

/** Carries a decision out, while what ends is started again as a supervisor would. */
async function decided(decision: Promise<{ code: number; out: string; err: string }>) {
  let isOver = false;
  const answer = decision.finally(() => (isOver = true));
  const hasEnded = (name: string): boolean => {
    const child = waybill.running.get(name)?.child;
    return !child || child.exitCode !== null || child.signalCode !== null;
  };
  await eventually(
    'every service runs on the new history',
    async () => {
      await Promise.all(APART.filter(hasEnded).map((name) => waybill.startService(name)));
      const answers = await Promise.all(APART.map((name) => fetch(`${waybill.opsUrl(name)}/readyz`)));
      return isOver && answers.every(({ ok }) => ok);
    },
    STARTED_MS,
  );
  return answer;
}

async function verified(what: string): Promise<unknown> {
  const { natsUrl, databaseUrl } = waybill.stack;
  const env = { ...process.env, WAYBILL_NATS_URL: natsUrl, WAYBILL_DATABASE_URL: databaseUrl };
  const run = promisify(execFile)(process.execPath, [VERIFY, what, '--json'], { env });
  const { stdout } = await run.catch((error: Error & { stdout: string }) => error);
  return JSON.parse(stdout);
}

describe('a log that lost its end is replaced by an archive, below running services', () => {
  let keptPids: string[];

  it(
    'ST-1, OP-46, OP-47, EV-71: services, machines and clients go on with a new history, and no index is given out twice',
    async () => {
      await runs('kept', KEPT_S);
      keptPids = pidsOf(KEPT_S);
      expect(await cli('snapshot', 'save', `${dir}/a.snap`)).toMatchObject({ code: 0 });
      const sinceIndex = await runs('since', SINCE_S);
      let lostIndex = 0;
      await cutAfter(async () => (lostIndex = await runs('lost', LOST_S)));
      const stream = await fetch(`${api.url}/v1/event/stream?index=${sinceIndex}`);
      const before = await status();
      const known = Math.max(before.LogLast, ...before.Lost.map(({ Index }) => Index));
      expect(before.Lost.map(({ Index }) => Index)).toContain(lostIndex);
      expect(before.Lost.map(({ Index }) => Index)).not.toContain(sinceIndex);
      const blocked = api.raw(`/v1/job/kept?index=${known}&wait=300s`);

      const answer = await decided(cli('log', 'restore', '-yes', `${dir}/a.snap`));
      expect(answer).toMatchObject({ code: 0, err: '' });
      const [, began] = /a new history begins with index (\d+)/.exec(answer.out) ?? [];
      expect(Number(began)).toBeGreaterThan(known + 256);
      expect(answer.out).toContain(`${before.LostCount} transactions are lost`);

      expect(await jobIds()).toEqual(['kept']);
      expect(await status()).toMatchObject({ Divergence: '', LostCount: 0, HistoryIndex: Number(began) });
      expect((await blocked.catch(() => undefined))?.headers.get('x-nomad-index') ?? String(known + 1)).toSatisfy(
        (index) => Number(index) > known,
      );
      await stream.text().catch(() => 'ended'); // it ends: otherwise this test does not
      const ended = new AbortController();
      const again = await fetch(`${api.url}/v1/event/stream`, { signal: ended.signal });
      expect(again.headers.get('x-waybill-event-restored')).toBe(began);
      ended.abort();

      await eventually('what the archive does not know is ended', () => pidsOf(SINCE_S).length === 0, STARTED_MS);
      await eventually('what was lost is ended', () => pidsOf(LOST_S).length === 0, STARTED_MS);
      expect(await runs('after', SINCE_S)).toBeGreaterThan(Number(began));
      expect(pidsOf(KEPT_S)).toEqual(keptPids);
      expect(await verified('log')).toMatchObject({ ok: true });
      const { tables } = (await verified('state')) as { tables: readonly ComparedTable[] };
      expect(tables.filter(({ differences, tableIndexes }) => differences > 0 || tableIndexes !== null)).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'ST-1: a log whose beginning was trimmed cannot be adopted, and is replaced all the same',
    async () => {
      expect(await cli('snapshot', 'save', `${dir}/b.snap`)).toMatchObject({ code: 0 });
      const { LogLast } = await status();
      await trimTo(LogLast - 1);
      await cutAfter(() => runs('lost', LOST_S));
      const refused = await cli('log', 'adopt', '-yes');
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('waybill operator log restore FILE') });

      const answer = await decided(cli('log', 'restore', '-yes', `${dir}/b.snap`));
      expect(answer).toMatchObject({ code: 0, err: '' });
      expect(await jobIds()).toEqual(['after', 'kept']);
      expect(await status()).toMatchObject({ Divergence: '', LostCount: 0 });
      await eventually('what was lost is ended', () => pidsOf(LOST_S).length === 0, STARTED_MS);
      await api.stop('after', true);
      await eventually('what is stopped ends', () => pidsOf(SINCE_S).length === 0, STARTED_MS);
      expect(pidsOf(KEPT_S)).toEqual(keptPids);
      expect(await status()).toMatchObject({ Divergence: '', LostCount: 0 });
      // Frames that nobody lost are not looked for in a log that has no beginning.
      expect(readFileSync(path.join(waybill.dir, 'waybill.log'), 'utf8')).not.toContain('EVENTS has lost');
    },
    TEST_MS,
  );
});

/** As the retention does after thirty days. */
async function trimTo(index: number): Promise<void> {
  const link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  try {
    await (await jetstreamManager(link.nc)).streams.purge('TXN', { seq: index });
  } finally {
    await link.close();
  }
}
