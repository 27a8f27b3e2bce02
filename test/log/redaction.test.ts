import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsLink } from '@waybill/journal';
import { unpackArchive } from '@waybill/model/snapshot-archive';
import { loadSnapshot, openPool } from '@waybill/projection';
import { StateMachine } from '@waybill/state';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Quotes and backslashes are written differently in a job file, in JSON and in a row of JSON. */
const SECRET = 'hunter2"\\hunter2-wörd';
const FORMS = [SECRET, JSON.stringify(SECRET).slice(1, -1), 'hunter2'];
const ENCODED = Buffer.from(`user:${SECRET}`).toString('base64');

interface Allocation {
  readonly ID: string;
  readonly ClientStatus: string;
  readonly JobVersion: number;
}

let waybill: WaybillProcesses;
let dir: string;
let archives: string;

beforeAll(async () => {
  archives = mkdtempSync(path.join(tmpdir(), 'waybill-archives-'));
  waybill = await WaybillProcesses.startTogether({ WAYBILL_ARCHIVE_DIR: archives, WAYBILL_ARCHIVE_KEEP: '3' });
  dir = waybill.dir;
});
afterAll(async () => {
  await waybill?.stop();
  rmSync(archives, { recursive: true, force: true });
});

const cli = (...words: string[]) => runCli(waybill.api.url, words);
const file = (name: string, text: string): string => {
  const at = path.join(dir, name);
  writeFileSync(at, text);
  return at;
};
const allocsOf = (job: string) => waybill.api.get<Allocation[]>(`/v1/job/${encodeURIComponent(job)}/allocations`);
const ended = ({ ClientStatus }: Allocation): boolean => ['complete', 'failed', 'lost'].includes(ClientStatus);

/** Everything that PostgreSQL answers, as text. */
async function database(): Promise<string> {
  const client = new Client({ connectionString: waybill.stack.databaseUrl });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  await client.end();
  return texts.join('\n');
}

/** Every message of the streams of the log, of events and of archives. */
async function streams(): Promise<string> {
  const link: NatsLink = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  const manager = await jetstreamManager(link.nc);
  const texts: string[] = [];
  for (const stream of ['TXN', 'EVENTS', 'ARCHIVES']) {
    const { state } = await manager.streams.info(stream);
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
      if (message) texts.push(`${stream} ${seq}: ${Buffer.from(message.data).toString('utf8')}`);
    }
  }
  await link.close();
  return texts.join('\n');
}

/** The files of NATS, byte for byte. */
function filesOfNats(): string {
  const root = path.join(dir, 'stack', 'nats');
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(path.join(entry.parentPath, entry.name)).toString('utf8')).join('\n');
}

/** Lines that contain the secret in any form. */
const withSecret = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => [...FORMS, ENCODED].some((form) => line.includes(form)))
    .map((line) => line.slice(0, 120));

describe('a secret in a job file', () => {
  it('ST-185, ST-186: is removed from the state, the history, the log, the events and the archives', async () => {
    const { api } = waybill;
    const value = file('value.txt', `${SECRET}\n`);
    const job = (env: string) => `job "web" {
      group "web" {
        task "web" {
          driver = "raw_exec"
          config {
            command = "/bin/sleep"
            args    = ["600"]
          }
          env { PASSWORD = ${env} }
          kill_timeout = "1s"
        }
      }
    }`;
    expect(await cli('run', '-detach', file('web.hcl', job(JSON.stringify(SECRET))))).toMatchObject({ code: 0 });
    await eventually('it runs', async () => (await allocsOf('web')).some((a) => a.ClientStatus === 'running'));

    const inUse = await cli('log', `-redact=${value}`, '-dry-run');
    expect(inUse).toMatchObject({ code: 1, err: expect.stringContaining('version 0 of job "web"') });
    expect(inUse.out).toContain('default/web version 0: TaskGroups.0.Tasks.0.Env.PASSWORD');
    const refused = await cli('log', `-redact=${value}`, `-archive=${path.join(dir, 'early.snap')}`, '-yes');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('has not ended') });
    expect(existsSync(path.join(dir, 'early.snap'))).toBe(false);

    // A purged job, a job that was dispatched with the secret, and a job that has ended.
    await api.register(shellJob('purged', `echo '${SECRET}'`, { type: 'batch' }));
    const parent = shellJob('import', 'true', { type: 'batch' });
    await api.register({ ...parent, ParameterizedJob: { Payload: 'required' } });
    const answer = await api.raw('/v1/job/import/dispatch', {
      method: 'PUT',
      body: JSON.stringify({ Payload: ENCODED }),
    });
    const dispatched = (await answer.json()) as { DispatchedJobID: string };
    expect(await cli('run', '-detach', file('clean.hcl', job('"from a variable"')))).toMatchObject({ code: 0 });
    for (const name of ['purged', dispatched.DispatchedJobID])
      await eventually(`${name} has ended`, async () => {
        const allocs = await allocsOf(name);
        return allocs.length > 0 && allocs.every(ended);
      });
    await eventually('version 0 has ended', async () => {
      const allocs = await allocsOf('web');
      return allocs.some((a) => a.JobVersion === 1) && allocs.every((a) => a.JobVersion === 1 || ended(a));
    });
    await api.stop('purged', true);
    await eventually('the children are dead', async () => {
      const { Status } = await api.get<{ Status: string }>(`/v1/job/${encodeURIComponent(dispatched.DispatchedJobID)}`);
      return Status === 'dead';
    });
    // Before the redaction every place has the secret, so the searches below are in the right places.
    for (const everything of [await database(), await streams(), filesOfNats()]) {
      expect(withSecret(everything).length).toBeGreaterThan(3);
      expect(everything).toContain(ENCODED);
    }

    const before = await cli('log', '-json', 'job', 'web');
    const registered = (JSON.parse(before.out) as { Index: number; Name: string }[]).findLast(
      ({ Name }) => Name === 'JobRegister',
    )!;
    const archive = path.join(dir, 'after.snap');
    const done = await cli('log', `-redact=${value}`, `-archive=${archive}`, '-yes');
    expect(done).toMatchObject({ code: 0, err: '' });
    expect(withSecret(done.out)).toEqual([]);
    expect(done.out).toMatch(/The log and the events before index \d+ are erased/);

    expect(withSecret(await streams())).toEqual([]);
    expect(withSecret(filesOfNats())).toEqual([]);
    expect(withSecret(await database())).toEqual([]);
    const kept = readdirSync(archives).map((name) => path.join(archives, name));
    expect(kept.length).toBeGreaterThan(0);
    for (const one of [archive, ...kept]) {
      const { state } = await unpackArchive(readFileSync(one));
      expect(withSecret(state.toString())).toEqual([]);
    }

    const output = readdirSync(dir).filter((name) => name.endsWith('.log'));
    expect(output.length).toBeGreaterThan(0);
    expect(withSecret(output.map((name) => readFileSync(path.join(dir, name), 'utf8')).join('\n'))).toEqual([]);

    // The history is still there, without the value.
    const history = await cli('log', '-json', '-diff', 'job', 'web');
    expect(withSecret(history.out)).toEqual([]);
    expect((JSON.parse(history.out) as { Name: string }[]).filter(({ Name }) => Name === 'JobRegister')).toHaveLength(
      2,
    );
    const then = await api.get<{ TaskGroups: { Tasks: { Env: object }[] }[] }>(
      `/v1/waybill/state/job/web?index=${registered.Index}`,
    );
    expect(then.TaskGroups[0]?.Tasks[0]?.Env).toEqual({ PASSWORD: '<redacted>' });
    const { Source } = await api.get<{ Source: string }>('/v1/job/web/submission?version=0');
    expect(Source).toContain('PASSWORD = "<redacted>"');
    expect((await cli('log', '-n=1', '-type=HistoryErase')).out).toContain('HistoryErase');
    expect(await cli('log', `-redact=${value}`, '-dry-run')).toMatchObject({
      code: 0,
      out: 'The value was not found.\n',
    });
  });

  it('ST-186: the cluster goes on, and services that start later have the same state', async () => {
    const { api } = waybill;
    await api.register(shellJob('after', 'true', { type: 'batch' }));
    await eventually('a later job ends', async () => (await allocsOf('after')).some(ended));
    await waybill.startService('scheduler', 'late-scheduler');
    const pool = openPool(waybill.stack.databaseUrl);
    const machine = new StateMachine();
    await loadSnapshot(pool, machine);
    await pool.end();
    expect(machine.tables.job_version.get('default/web@0')?.TaskGroups[0]?.Tasks[0]?.Env).toEqual({
      PASSWORD: '<redacted>',
    });
    expect(machine.tables.cluster_meta.get('singleton')?.ErasedBefore).toBeGreaterThan(1);
  });
});
