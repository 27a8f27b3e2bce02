import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../sim/kernel/seeded-random.js';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { SyncedCopy } from '../support/power-cut.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, type ServiceName, WaybillProcesses } from '../support/waybill-processes.js';

/** More of them: WAYBILL_POWER_CUTS=50. */
const CUTS = Number(process.env['WAYBILL_POWER_CUTS'] ?? 3);
/** Processes of their own; the others share one, and start anew in it. All with WAYBILL_POWER_CUTS. */
const APART: readonly ServiceName[] = process.env['WAYBILL_POWER_CUTS'] ? CONTROL_PLANE : ['api', 'nodes'];
const SEED = Number(process.env['WAYBILL_SEED'] ?? 20_261_125);
const CUT_TIMEOUT_MS = 300_000;
/** Every service notices within this, once NATS is back; a busy machine takes longer than the second that it takes alone. */
const NOTICED_MS = 15_000;

const STATUS = '/v1/operator/log/status';
const run = promisify(execFile);
const VERIFY = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));

let waybill: WaybillProcesses;
let api: ApiClient;
let random: SeededRandom;
let highestIndex = 0;

beforeAll(async () => {
  random = new SeededRandom(String(SEED));
  waybill = await WaybillProcesses.startTogether({}, CONTROL_PLANE, APART);
  api = waybill.api;
}, CUT_TIMEOUT_MS);
afterAll(() => waybill?.stop());

interface Status {
  readonly LostCount: number;
  readonly CommonIndex: number;
  readonly Divergence: string;
  readonly Index: number;
  readonly Lost: readonly { readonly Index: number; readonly Objects: readonly { Kind: string; ID: string }[] }[];
}

async function registered(prefix: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const id = `${prefix}-${i}`;
    const { JobModifyIndex } = await api.register(shellJob(id, 'exec sleep 600'));
    highestIndex = Math.max(highestIndex, JobModifyIndex);
    ids.push(id);
  }
  return ids;
}

const isEvaluated = async (id: string): Promise<boolean> => {
  const evaluations = await api.get<{ Status: string }[]>(`/v1/job/${id}/evaluations`);
  return evaluations.length > 0 && evaluations.every(({ Status }) => Status !== 'pending');
};

const reasonsOf = async (name: string): Promise<string> => {
  const answer = (await (await fetch(`${waybill.opsUrl(name)}/readyz`)).json()) as { reasons: string[] };
  return answer.reasons.join();
};

/** As a supervisor would. */
async function restartEnded(): Promise<void> {
  const hasEnded = (name: string): boolean => {
    const child = waybill.running.get(name)?.child;
    return !child || child.exitCode !== null || child.signalCode !== null;
  };
  await Promise.all(APART.filter(hasEnded).map((name) => waybill.startService(name)));
}

async function verified(what: string): Promise<{ ok: boolean }> {
  const env = {
    ...process.env,
    WAYBILL_NATS_URL: waybill.stack.natsUrl,
    WAYBILL_DATABASE_URL: waybill.stack.databaseUrl,
  };
  try {
    return JSON.parse((await run(process.execPath, [VERIFY, what, '--json'], { env })).stdout) as { ok: boolean };
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string };
    if (stdout === '') throw error;
    return JSON.parse(stdout) as { ok: boolean };
  }
}

describe(`the power is cut, and what was written since the last sync is gone (seed ${SEED})`, () => {
  it.each(Array.from({ length: CUTS }, (_, cut) => cut))(
    'ST-1: cut %i is noticed by every service, decided by an operator, and nothing is left of it',
    async (cut) => {
      const kept = await registered(`kept-${cut}`, 1 + random.below(3));
      // Later transactions about a job name it too.
      for (const id of kept) await eventually(`${id} is evaluated`, () => isEvaluated(id));
      const synced = await SyncedCopy.take(waybill.stack.nats, path.join(waybill.dir, 'stack', 'nats'));
      const lost = await registered(`lost-${cut}`, 1 + random.below(5));
      await synced.cutPower();
      await eventually('NATS is back', () => reachable(waybill.stack.natsUrl));

      const backMs = performance.now();
      await Promise.all(
        APART.map((name) =>
          eventually(
            `${name} notices`,
            async () => (await reasonsOf(name)).includes('it is not the same log'),
            NOTICED_MS,
          ),
        ),
      );
      process.stdout.write(`cut ${cut}: noticed by all after ${Math.round(performance.now() - backMs)} ms\n`);

      const refused = await api.raw('/v1/jobs', {
        method: 'PUT',
        body: JSON.stringify({ Job: shellJob('no', 'true') }),
      });
      expect([refused.status, await refused.text()]).toEqual([
        503,
        expect.stringContaining('waybill operator log status'),
      ]);
      const read = await api.raw(`/v1/job/${kept[0]}`);
      expect([read.status, read.headers.get('x-waybill-log-diverged')]).toEqual([200, 'true']);

      const status = await api.get<Status>(STATUS);
      const named = new Set(status.Lost.flatMap(({ Objects }) => Objects.map(({ ID }) => ID)));
      for (const id of lost) expect([id, named.has(id)]).toEqual([id, true]);
      for (const id of kept) expect([id, named.has(id)]).toEqual([id, false]);

      const deciding = api.raw('/v1/operator/log/adopt', { method: 'PUT' });
      await eventually(
        'every service runs on the new history',
        async () => {
          await restartEnded();
          const reasons = await Promise.all(APART.map(reasonsOf));
          return reasons.every((text) => text === '');
        },
        240_000,
      );
      const decided = await deciding;
      expect([decided.status, ((await decided.json()) as Status).LostCount]).toEqual([200, status.LostCount]);

      for (const id of lost) expect([id, (await api.raw(`/v1/job/${id}`)).status]).toEqual([id, 404]);
      for (const id of kept) expect([id, (await api.raw(`/v1/job/${id}`)).status]).toEqual([id, 200]);
      const before = highestIndex;
      const [after] = await eventually('writes are taken again', () =>
        registered(`after-${cut}`, 1).catch(() => undefined),
      );
      expect((await api.raw(`/v1/job/${after}`)).status).toBe(200);
      expect(highestIndex).toBeGreaterThan(before);
      expect(await api.get<Status>(STATUS)).toMatchObject({ LostCount: 0, Divergence: '' });
      expect(await verified('state')).toMatchObject({ ok: true });
      expect(await verified('log')).toMatchObject({ ok: true });
    },
    CUT_TIMEOUT_MS,
  );
});

async function reachable(natsUrl: string): Promise<boolean> {
  const { connect } = await import('@nats-io/transport-node');
  const connection = await connect({ servers: natsUrl, reconnect: false, timeout: 500 });
  await connection.close();
  return true;
}
