import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { Launcher, nothingRuns } from '../support/launcher.js';
import { eventually } from '../support/wait.js';

const LONG_MS = 240_000;
const ROLLOUT_MS = 90_000;

type Name = 'east' | 'west';
const NAMES: readonly Name[] = ['east', 'west'];

/** Where a region is. */
interface Place {
  readonly port: number;
  readonly natsPort: number;
}

let parent: string;
let places: Record<Name, Place>;
const regions: Partial<Record<Name, Launcher>> = {};

/** One complete region in a directory of its own, as `npm start` has it. */
function start(name: Name): Launcher {
  const peer = name === 'east' ? 'west' : 'east';
  const credentials = path.join(parent, peer, 'credentials', 'regions.seed');
  const launcher = new Launcher({
    port: places[name].port,
    dataDir: path.join(parent, name),
    args: [
      '--empty',
      '--region',
      name,
      '--nats-port',
      String(places[name].natsPort),
      '--peer',
      `${peer}=nats://127.0.0.1:${places[peer].natsPort}#${credentials}`,
    ],
  });
  regions[name] = launcher;
  return launcher;
}

const cli = (...words: string[]) => runCli(`http://127.0.0.1:${places.east.port}`, words);

interface Seen {
  readonly JobVersion: number;
  readonly Status: string;
  readonly StatusDescription: string;
}

/** The text of an answer, and its status. */
async function ask(
  at: Name,
  pathAndQuery: string,
  method = 'GET',
  body?: object,
): Promise<{ status: number; text: string }> {
  const url = `http://127.0.0.1:${places[at].port}${pathAndQuery}`;
  const answer = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, text: await answer.text() };
}

async function read<T>(at: Name, pathAndQuery: string): Promise<T> {
  const { status, text } = await ask(at, pathAndQuery);
  if (status !== 200) throw new Error(`${pathAndQuery}: ${status} ${text}`);
  return JSON.parse(text) as T;
}

/** Deployments of a version in both regions, as east shows them. */
async function statuses(version: number): Promise<string[]> {
  const seen = NAMES.map(async (region) => {
    const all = await read<Seen[]>('east', `/v1/job/app/deployments?region=${region}`);
    return all.find(({ JobVersion }) => JobVersion === version)?.Status ?? 'none';
  });
  return Promise.all(seen);
}

const untilAll = (version: number, ...expected: string[]) =>
  eventually(
    `version ${version}: ${expected.join(', ')}`,
    async () => {
      const seen = await statuses(version);
      if (seen.join() !== expected.join()) throw new Error(seen.join());
      return true;
    },
    ROLLOUT_MS,
  );

function job(say: string, over: object = {}) {
  const command = { command: '/bin/sh', args: ['-c', `echo ${say} $NOMAD_REGION $NOMAD_META_tier; exec sleep 10000`] };
  return {
    Job: {
      ID: 'app',
      Multiregion: {
        Strategy: { MaxParallel: 1 },
        Regions: [
          { Name: 'east', Count: 1 },
          { Name: 'west', Count: 2, Meta: { tier: 'second' } },
        ],
      },
      Update: { MaxParallel: 2, MinHealthyTime: 300e6, HealthCheck: 'task_states' },
      TaskGroups: [
        {
          Name: 'app',
          Count: 0,
          Tasks: [{ Name: 'say', Driver: 'raw_exec', Config: command, Resources: { CPU: 20, MemoryMB: 16 } }],
        },
      ],
      ...over,
    },
  };
}

beforeAll(async () => {
  parent = mkdtempSync(path.join(tmpdir(), 'waybill-regions-'));
  chmodSync(parent, 0o711);
  const place = async (): Promise<Place> => ({ port: await freePort(), natsPort: await freePort() });
  places = { east: await place(), west: await place() };
  await Promise.all(NAMES.map((name) => start(name).up()));
}, LONG_MS);

afterAll(async () => {
  for (const launcher of Object.values(regions)) if (launcher.running) await launcher.interrupt();
  await nothingRuns(parent);
  rmSync(parent, { recursive: true, force: true });
}, LONG_MS);

describe('two regions, each with everything of its own', () => {
  it(
    'DP-1101, DP-1105, DP-1106, API-43: a job that is registered through one is rolled out in both, in order',
    async () => {
      await eventually('they know each other', async () => {
        expect(await read('east', '/v1/nodes?region=west')).toHaveLength(1);
        expect(await read('west', '/v1/nodes?region=east')).toHaveLength(1);
        return true;
      });
      expect(await read('west', '/v1/regions')).toEqual(['east', 'west']);
      expect((await ask('west', '/v1/jobs', 'PUT', job('one'))).status).toBe(200);
      await untilAll(0, 'successful', 'successful');
      const stored = await read<{ Region: string; Version: number; Stable: boolean }>(
        'east',
        '/v1/job/app?region=west',
      );
      expect(stored).toMatchObject({ Region: 'west', Version: 0, Stable: true, Meta: { tier: 'second' } });
      const allocs = await read<{ CreateTime: number }[]>('east', '/v1/job/app/allocations?region=west');
      const first = await read<{ CreateTime: number }[]>('east', '/v1/job/app/allocations');
      expect(allocs).toHaveLength(2);
      expect(first).toHaveLength(1);
      for (const alloc of allocs) expect(alloc.CreateTime).toBeGreaterThan(first[0]?.CreateTime ?? Infinity);
    },
    LONG_MS,
  );

  it('DP-1704, CL-612, CL-317: a deployment on the command line says how far it is in every region', async () => {
    const ids = await Promise.all(
      NAMES.map(async (region) => {
        const [deployment] = await read<{ ID: string }[]>('east', `/v1/job/app/deployments?region=${region}`);
        return deployment!.ID.slice(0, 8);
      }),
    );
    const rows = new RegExp(
      `^Multiregion Deployment\nRegion +ID +Status\neast +${ids[0]} +successful\nwest +${ids[1]} +successful$`,
      'm',
    );
    expect((await cli('deployment', 'status', ids[0]!)).out).toMatch(rows);
    expect((await cli('job', 'status', 'app')).out).toMatch(rows);
    expect((await cli('deployment', 'status', '-region', 'west', ids[1]!)).out).toMatch(rows);
  });

  it('API-28, API-236: a region in a body counts where the query names none; every instance knows how many there are', async () => {
    const evaluate = (query: string, Region: string) =>
      ask('east', `/v1/job/app/evaluate${query}`, 'PUT', { JobID: 'app', Region });
    const has = async (region: Name, { text }: { text: string }) => {
      const { EvalID } = JSON.parse(text) as { EvalID: string };
      return (await ask('east', `/v1/evaluation/${EvalID}?region=${region}`)).status === 200;
    };
    for (const [query, inBody, region, other] of [
      ['', 'west', 'west', 'east'],
      ['', 'east', 'east', 'west'],
      ['', '', 'east', 'west'],
      ['?region=east', 'west', 'east', 'west'],
    ] as const) {
      const answer = await evaluate(query, inBody);
      expect([await has(region, answer), await has(other, answer)], `${query} ${inBody}`).toEqual([true, false]);
    }
    // Names of members in any case (API-25).
    const lower = await ask('east', '/v1/job/app/evaluate', 'PUT', { JobID: 'app', region: 'west' });
    expect([await has('west', lower), await has('east', lower)]).toEqual([true, false]);
    expect(await evaluate('', 'mars')).toEqual({ status: 400, text: 'No path to region' });
    const { stats } = await read<{ stats: { nomad: object } }>('east', '/v1/agent/self');
    expect(stats.nomad).toMatchObject({ known_regions: '2' });
  });

  it('DP-1104: the same job again makes no version, and answers at once', async () => {
    const before = await statuses(1);
    const answer = await ask('east', '/v1/jobs', 'PUT', job('one'));
    expect(answer.status).toBe(200);
    expect((JSON.parse(answer.text) as { EvalID: string }).EvalID).not.toBe('');
    expect([before, await statuses(1)]).toEqual([
      ['none', 'none'],
      ['none', 'none'],
    ]);
  });

  it('DP-1113: a region that the job does not list any more stops it', async () => {
    const only = (...names: Name[]) => ({ Multiregion: { Regions: names.map((Name) => ({ Name, Count: 0 })) } });
    for (const names of [NAMES, ['east']] as Name[][])
      expect((await ask('east', '/v1/jobs', 'PUT', job('three', { ID: 'leaver', ...only(...names) }))).status).toBe(
        200,
      );
    const stopped = (region: Name) => read<{ Stop: boolean }>('east', `/v1/job/leaver?region=${region}`);
    await eventually('west has stopped it', async () => (await stopped('west')).Stop);
    expect((await stopped('east')).Stop).toBe(false);
  });

  it('DP-1102, API-332, API-43: what names a region that is none is refused', async () => {
    const Multiregion = { Regions: [{ Name: 'east' }, { Name: 'mars' }] };
    expect(await ask('east', '/v1/jobs', 'PUT', job('two', { Multiregion }))).toEqual({
      status: 400,
      text: 'No path to region',
    });
    expect(await ask('east', '/v1/jobs?region=mars')).toEqual({ status: 400, text: 'No path to region' });
    const OnFailure = 'sometimes';
    const refused = await ask(
      'east',
      '/v1/jobs',
      'PUT',
      job('two', { Multiregion: { Strategy: { OnFailure }, ...Multiregion } }),
    );
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('on_failure "sometimes"');
  });

  it('DP-1140: a plan is for the job of the region that is asked', async () => {
    const { TaskGroups } = job('one').Job;
    const Diff = true;
    for (const [region, place] of [
      ['east', 1],
      ['west', 2],
    ] as const) {
      const wanted = { ...job('one', { ID: 'new', TaskGroups }), Diff };
      const answer = await ask('east', `/v1/job/new/plan?region=${region}`, 'PUT', wanted);
      expect(JSON.parse(answer.text)).toMatchObject({ Annotations: { DesiredTGUpdates: { app: { Place: place } } } });
    }
  });

  it(
    'DP-1103, DP-1135, DP-1141: while one region is out nothing is registered anywhere; what runs goes on, other jobs are taken',
    async () => {
      await regions.west?.interrupt();
      const began = Date.now();
      await eventually('east has noticed', async () => {
        expect(await ask('east', '/v1/job/app/deployments?region=west')).toEqual({
          status: 500,
          text: 'No path to region',
        });
        return true;
      });
      expect(Date.now() - began).toBeLessThan(10_000);
      expect((await cli('job', 'deployments', '-latest', 'app')).out).toMatch(
        /^east +[0-9a-f]{8} +successful\nwest \(error\) +<none> +<none>$/m,
      );
      const refused = await ask('east', '/v1/jobs', 'PUT', job('two'));
      expect(refused).toEqual({ status: 500, text: 'region "west" cannot be reached; nothing was registered' });
      expect(await read<Seen[]>('east', '/v1/job/app/deployments')).toHaveLength(1);
      expect((await ask('east', '/v1/jobs', 'PUT', job('alone', { ID: 'alone', Multiregion: null }))).status).toBe(200);
      expect(await read<{ ClientStatus: string }[]>('east', '/v1/job/app/allocations')).toMatchObject([
        { ClientStatus: 'running' },
      ]);
    },
    LONG_MS,
  );

  it(
    'DP-1134: a region goes in the middle of a rollout; when it is back it takes its turn by itself',
    async () => {
      await start('west').up();
      await eventually('west is there again', async () => (await ask('east', '/v1/nodes?region=west')).status === 200);
      expect((await ask('east', '/v1/jobs', 'PUT', job('two'))).status).toBe(200);
      await regions.west?.interrupt();
      await eventually('east has done its part', async () => {
        const [newest] = (await read<Seen[]>('east', '/v1/job/app/deployments')).toSorted(
          (a, b) => b.JobVersion - a.JobVersion,
        );
        if (newest?.Status !== 'blocked' && newest?.Status !== 'pending') throw new Error(newest?.Status);
        return true;
      });
      await start('west').up();
      await untilAll(1, 'successful', 'successful');
    },
    LONG_MS,
  );

  it('DP-1139: without -global the job stops in one region, with it in all', async () => {
    expect((await ask('east', '/v1/job/app', 'DELETE')).status).toBe(200);
    const stopped = (region: Name) => read<{ Stop: boolean }>('east', `/v1/job/app?region=${region}`);
    expect([(await stopped('east')).Stop, (await stopped('west')).Stop]).toEqual([true, false]);
    expect((await ask('east', '/v1/job/app?global=true', 'DELETE')).status).toBe(200);
    expect((await stopped('west')).Stop).toBe(true);
  });
});
