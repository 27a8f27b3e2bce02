import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Stack } from '@waybill/embedded';
import { BatchWriter, HistoryRetention, openPool, TooManyObjectsError, TransactionLog } from '@waybill/projection';
import { fixtures, HISTORY_TABLES, type ObjectKind, REQUEST_WINDOW_NS, StateMachine } from '@waybill/state';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startMigratedStack } from '../support/begun-databases.js';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const SEED = 7_411;
const KINDS = Object.keys(HISTORY_TABLES) as ObjectKind[];
const NAMESPACED: ReadonlySet<ObjectKind> = new Set(['job', 'volume', 'host-volume', 'var']);
/** The history keeps no secrets of volumes (VL-6), of tokens or of variables. */
const withoutSecrets = (kind: ObjectKind, row: unknown): unknown => {
  if (typeof row !== 'object' || row === null) return row;
  if (kind === 'token') return { ...row, SealedSecret: undefined };
  if (kind === 'var') return { ...row, Data: undefined };
  return kind === 'volume' ? { ...row, Secrets: undefined } : row;
};
const ALL = { namespaces: '*', perPage: 1_000 } as const;

describe('the history in Postgres', () => {
  let stack: Stack;
  let pool: Pool;
  let log: TransactionLog;
  /** Ten seconds between two, so that the log is longer than the window of request ids. */
  const txns = fixtures
    .aRandomLog(SEED, 400)
    .map((txn) => ({ ...txn, timeNs: (1_700_000_000 + txn.index * 10) * 1e9 }));
  /** Rows of every kind at every index, by id (of jobs: namespace/id). */
  const at: Map<string, unknown>[] = [new Map()];

  beforeAll(async () => {
    stack = await startMigratedStack();
    pool = openPool(stack.databaseUrl);
    log = new TransactionLog(pool);
    const machine = new StateMachine();
    const writer = new BatchWriter(pool);
    for (let from = 0; from < txns.length; from += 25) {
      const applied = txns.slice(from, from + 25).map((txn) => {
        const one = machine.apply(txn);
        const rows = KINDS.flatMap((kind) =>
          [...machine.tables[HISTORY_TABLES[kind]].entries()].map(([key, row]): [string, unknown] => [
            `${kind} ${key}`,
            JSON.parse(JSON.stringify(row)),
          ]),
        );
        at.push(new Map(rows));
        return one;
      });
      await writer.write(applied);
    }
  });
  afterAll(async () => {
    await pool?.end();
    await stack?.stop();
  });

  it('API-268: every object as of every index is what the log makes of it', async () => {
    const names = new Set(at.flatMap((rows) => [...rows.keys()]));
    let looked = 0;
    for (const name of names) {
      const [kind, key] = [name.slice(0, name.indexOf(' ')) as ObjectKind, name.slice(name.indexOf(' ') + 1)];
      const slash = key.indexOf('/');
      const [namespace, id] = NAMESPACED.has(kind) ? [key.slice(0, slash), key.slice(slash + 1)] : ['*', key];
      for (let index = (looked++ % 7) + 1; index < at.length; index += 41) {
        const wanted = kind === 'scheduler-config' ? 'scheduler-config' : id;
        const found = await log.stateAt(kind, namespace === '*' ? '*' : [namespace], wanted, index);
        const [row, expected] = [found.row, at[index]!.get(name)].map((one) => withoutSecrets(kind, one));
        expect(row, `seed ${SEED}: ${name} at ${index}`).toEqual(expected);
      }
    }
    expect(looked).toBeGreaterThan(50);
  }, 60_000);

  it('API-264: pages of the log, in both directions, refused ones too, and nothing twice', async () => {
    for (const reverse of [false, true]) {
      const seen: number[] = [];
      for (let nextIndex = 0; ;) {
        const page = await log.page({ ...ALL, perPage: 37, reverse, nextIndex });
        expect(page.index).toBe(txns.length);
        seen.push(...page.txns.map((txn) => txn.index));
        if (page.nextIndex === 0) break;
        ({ nextIndex } = page);
      }
      const all = txns.map((txn) => txn.index);
      expect(seen).toEqual(reverse ? all : all.toReversed());
    }
    const { txns: logged } = await log.page(ALL);
    expect(logged.filter((txn) => txn.verdict === 'refused').length).toBeGreaterThan(10);
    for (const txn of logged) if (txn.verdict === 'refused') expect(txn.objects).toEqual([]);
  });

  it('API-265: the transactions of one object are those that changed it, with both sides of each change', async () => {
    const page = await log.page({ ...ALL, kind: 'job', id: 'web', namespaces: ['default'], withStates: true });
    const changes = at.flatMap((rows, index) => {
      const [before, after] = [at[index - 1]?.get('job default/web'), rows.get('job default/web')];
      return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ index, before, after }];
    });
    const told = page.txns
      .toReversed()
      .flatMap((txn) =>
        txn.objects.map(({ states }) => ({ index: txn.index, before: states?.before, after: states?.after })),
      );
    expect(told).toEqual(changes);
    const attempts = page.txns.filter((txn) => txn.objects.length === 0);
    expect(attempts.every((txn) => txn.verdict !== 'accepted')).toBe(true);
  });

  it('CL-1025: related ones too', async () => {
    const own = await log.page({ ...ALL, kind: 'job', id: 'web', namespaces: ['default'] });
    const related = await log.page({ ...ALL, kind: 'job', id: 'web', namespaces: ['default'], related: true });
    expect(related.txns.length).toBeGreaterThan(own.txns.length);
    const indexes = new Set(related.txns.map((txn) => txn.index));
    for (const { index } of own.txns) expect(indexes).toContain(index);
    const kinds = new Set(related.txns.flatMap((txn) => txn.objects.map(({ kind }) => kind)));
    expect(kinds).toContain('alloc');
    expect(kinds).toContain('eval');
  });

  it('looks at a limited number of objects at once', async () => {
    expect(new TooManyObjectsError(2_000).message).toContain('at most 1000 objects');
  });

  it('CL-1063, API-267: what is too old is forgotten up to a floor, never the window of request ids', async () => {
    const retention = new HistoryRetention(pool);
    const { signal } = new AbortController();
    const middle = txns[200]!;
    const floor = await retention.trim(middle.timeNs, signal);
    expect(floor).toBe(txns.find((txn) => txn.timeNs >= middle.timeNs)!.index);
    expect(await retention.trim(middle.timeNs, signal)).toBe(floor);
    expect((await log.page(ALL)).floor).toBe(floor);
    expect((await log.page({ ...ALL, reverse: true })).txns[0]!.index).toBe(floor);
    expect(await log.stateAt('job', ['default'], 'web', floor - 1)).toMatchObject({ kept: false, floor });
    const kept = await log.stateAt('job', ['default'], 'web', floor);
    expect(kept.row).toEqual(at[floor]!.get('job default/web'));

    await retention.trim(9e18, signal);
    const newest = Math.max(...txns.map((txn) => txn.timeNs));
    const left = await log.page(ALL);
    const window = txns.find((txn) => txn.timeNs >= newest - REQUEST_WINDOW_NS)!;
    expect(left.txns.map((txn) => txn.index)).toEqual(
      txns
        .filter((txn) => txn.index >= window.index)
        .map((txn) => txn.index)
        .toReversed(),
    );
  });
});

interface Record {
  Index: number;
  Name: string;
  Actor: { Kind: string };
  Reason: string;
  RequestID: string;
  TraceID: string;
  Verdict: string;
  Error: string;
  Objects: {
    Kind: string;
    ID: string;
    Op: string;
    Change: string;
    Diff?: { Fields: { Name: string; New: string }[] };
  }[];
}

describe('/v1/waybill', () => {
  let waybill: WaybillProcesses;
  let api: ApiClient;

  beforeAll(async () => {
    waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'api'], ['projector']);
    api = waybill.api;
  });
  afterAll(() => waybill?.stop());

  it('API-269, CL-1047, CL-1065: where an evaluation spent its time, as long as anybody knows it', async () => {
    interface Trace {
      Complete: boolean;
      Steps: { Name: string; Service: string; Instance: string; Index: number; Time: number; EndTime: number }[];
    }
    const { EvalID, JobModifyIndex } = await api.register(shellJob('traced', 'true'));
    const path = `/v1/waybill/trace/evaluation/${EvalID}`;
    const traceOf = () => api.get<Trace>(path);
    await eventually('it is over', async () => (await traceOf()).Steps.some(({ Name }) => Name === 'completed'));
    const { Complete, Steps } = await traceOf();
    expect(Complete).toBe(true);
    expect(Steps.slice(0, 2)).toMatchObject([
      { Name: 'submitted', Index: 0 },
      { Name: 'committed', Index: JobModifyIndex },
    ]);
    const inside = Steps.filter(({ Service }) => Service === 'broker' || Service === 'scheduler');
    const names = inside.map(({ Name }) => Name).filter((name) => !/^(waiting|plan queued)/.test(name));
    expect(names).toEqual(['enqueued', 'dequeued', 'scheduled', 'plan checked']);
    const planned = Steps.find(({ Name }) => Name === 'plan committed');
    for (const { EndTime } of inside) expect(EndTime).toBeLessThanOrEqual(planned?.Time ?? 0);
    expect(planned?.EndTime).toBeGreaterThanOrEqual(planned?.Time ?? Infinity);
    expect(inside.map(({ Instance }) => Instance)).toEqual(
      inside.map(() => expect.stringMatching(/^(broker@1|[0-9a-f]{8})$/)),
    );
    // No transaction was written just to record a time.
    const log = await api.get<{ Name: string }[]>(`/v1/waybill/log?kind=eval&id=${EvalID}&reverse=true`);
    expect(log.map(({ Name }) => Name)).toEqual(['JobRegister', 'ApplyPlanResults', 'EvalUpdate']);
    expect(Steps.map(({ Time }) => Time)).toEqual(Steps.map(({ Time }) => Time).toSorted((a, b) => a - b));
    const { headers } = await api.raw(path);
    expect(Number(headers.get('x-nomad-index'))).toBeGreaterThanOrEqual(Steps.at(-1)!.Index);
    expect(headers.get('x-waybill-log-floor')).toBe('1');
    const unknown = await api.raw('/v1/waybill/trace/evaluation/00000000-0000-4000-8000-000000000000');
    expect([unknown.status, await unknown.text()]).toEqual([404, 'eval not found']);
  });

  it('API-260, API-264, API-266, CL-1061, CL-1029: who changed a job, what, when, why and in which trace', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    await api.register(shellJob('history', 'true'));
    await api.raw('/v1/jobs', {
      method: 'PUT',
      body: JSON.stringify({ Job: { ...shellJob('history', 'true'), Priority: 60 } }),
      headers: { 'X-Waybill-Reason': 'more important', traceparent: `00-${trace}-00f067aa0ba902b7-01` },
    });
    await api.stop('history');
    const records = await api.get<Record[]>(
      '/v1/waybill/log?kind=job&id=history&type=JobRegister&type=JobDeregister&diff=true',
    );
    expect(records.map(({ Name, Verdict }) => [Name, Verdict])).toEqual([
      ['JobDeregister', 'accepted'],
      ['JobRegister', 'accepted'],
      ['JobRegister', 'accepted'],
    ]);
    const [stopped, changed, created] = records;
    expect(created!.Objects).toMatchObject([{ Kind: 'job', ID: 'history', Op: 'create', Change: 'created' }]);
    expect(changed).toMatchObject({ Reason: 'more important', TraceID: trace, Actor: { Kind: 'anonymous' } });
    expect(changed!.Objects[0]!.Change).toMatch(/^version 0 -> 1/);
    expect(changed!.Objects[0]!.Diff!.Fields).toContainEqual(expect.objectContaining({ Name: 'Priority', New: '60' }));
    expect(stopped!.Objects[0]!.Change).toMatch(/^version 1 -> 2, stopped/);
    const traced = await api.get<Record[]>(`/v1/waybill/log?trace=${trace}`);
    expect(traced.map(({ Index }) => Index)).toContain(changed!.Index);
    const asked = await api.get<Record[]>(`/v1/waybill/log?request=${changed!.RequestID}`);
    expect(asked.map(({ Index }) => Index)).toEqual([changed!.Index]);
  });

  it('API-268: the state of an object at an index is what its endpoint said then', async () => {
    await api.register(shellJob('then/now', 'true'));
    const then = await api.raw('/v1/job/then%2Fnow');
    const index = Number(then.headers.get('x-nomad-index'));
    await api.register({ ...shellJob('then/now', 'false'), Priority: 70 });
    const before = await api.raw(`/v1/waybill/state/job/then%2Fnow?index=${index}`);
    expect(before.headers.get('x-nomad-index')).toBe(String(index));
    expect(await before.json()).toEqual(await then.json());
    const missing = await api.raw(`/v1/waybill/state/job/then%2Fnow?index=1`);
    expect([missing.status, await missing.text()]).toEqual([404, 'no job "then/now" at index 1']);
    const future = await api.raw(`/v1/waybill/state/job/then%2Fnow?index=99999999`);
    expect([future.status, await future.text()]).toEqual([400, 'index 99999999 has not been reached']);
    const bad = await api.raw(`/v1/waybill/state/job/then%2Fnow`);
    expect([bad.status, await bad.text()]).toEqual([400, 'Invalid index']);
  });

  it('API-265: prefixes, times and indexes; what is wrong is named', async () => {
    await api.register(shellJob('prefix-one', 'true'));
    await api.register(shellJob('prefix-two', 'true'));
    expect((await api.get<Record[]>('/v1/waybill/log?kind=job&id=prefix-o')).length).toBeGreaterThan(0);
    expect(await api.get<Record[]>('/v1/waybill/log?kind=job&id=nobody')).toEqual([]);
    expect(await api.get<Record[]>('/v1/waybill/log?kind=volume&id=nobody')).toEqual([]);
    const refusals: [string, string][] = [
      ['kind=job&id=prefix-', 'prefix matched multiple objects: prefix-one, prefix-two'],
      ['kind=car', 'unknown kind "car"'],
      ['id=x', 'id needs a kind'],
      ['since=yesterday', 'invalid since "yesterday": neither RFC 3339 nor unix nanoseconds'],
      ['from=x', 'invalid from "x": not an index'],
    ];
    for (const [query, text] of refusals) {
      const answer = await api.raw(`/v1/waybill/log?${query}`);
      expect([answer.status, await answer.text()]).toEqual([400, text]);
    }
    expect(await api.get<Record[]>('/v1/waybill/log?type=%00&since=9999-12-31T00:00:00Z')).toEqual([]);
    const some = await api.get<Record[]>('/v1/waybill/log?from=2&to=4');
    expect(some.every(({ Index }) => Index >= 2 && Index <= 4)).toBe(true);
    expect(await api.get<Record[]>(`/v1/waybill/log?since=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
  });

  it('API-264, API-267: pages by token, the floor in every answer, and a blocked request that wakes for a match only', async () => {
    const first = await api.raw('/v1/waybill/log?kind=job&per_page=1');
    expect(first.headers.get('x-waybill-log-floor')).toBe('1');
    const [newest] = (await first.json()) as Record[];
    const token = first.headers.get('x-nomad-nexttoken');
    const [second] = await api.get<Record[]>(`/v1/waybill/log?kind=job&per_page=1&next_token=${token}`);
    expect(String(second!.Index)).toBe(token);
    expect(second!.Index).toBeLessThan(newest!.Index);

    const id = `blocked-${randomUUID()}`;
    const waiting = api.raw(`/v1/waybill/log?kind=job&id=${id}&index=1&wait=20s`);
    let answered = false;
    void waiting.then(() => (answered = true));
    await api.register(shellJob('something-else', 'true'));
    expect(answered).toBe(false);
    const { Index } = await api.register(shellJob(id, 'true'));
    const answer = await waiting;
    expect(Number(answer.headers.get('x-nomad-index'))).toBeGreaterThanOrEqual(Index);
    expect(((await answer.json()) as Record[]).at(-1)).toMatchObject({ Index, Name: 'JobRegister' });
  });

  it('CL-1064: no secret of a node is in its history', async () => {
    await waybill.startService('nodes');
    await waybill.startService('agent');
    const nodes = await eventually('a node', async () => {
      const found = await api.get<{ ID: string }[]>('/v1/nodes');
      return found.length > 0 && found;
    });
    const answer = await api.raw(`/v1/waybill/log?kind=node&id=${nodes[0]!.ID}&diff=true`);
    const text = await answer.text();
    const pool = openPool(waybill.stack.databaseUrl);
    const { rows } = await pool.query<{ secret: string }>(`select body::json ->> 'SecretID' as secret from nodes`);
    await pool.end();
    expect(rows[0]!.secret).toMatch(/-/);
    expect(text).toContain('SchedulingEligibility');
    expect(text).not.toContain(rows[0]!.secret);
    const index = Number(answer.headers.get('x-nomad-index'));
    const state = await api.get<{ SecretID: string }>(`/v1/waybill/state/node/${nodes[0]!.ID}?index=${index}`);
    expect(state.SecretID).toBe('');
  }, 60_000);

  it('ST-3: a projection rebuilt from the first message equals the one that was killed and went on, in every table', async () => {
    for (let n = 0; n < 4; n++) {
      await api.register(shellJob(`rebuilt-${n}`, 'exit 0', { type: 'batch', count: 2 }));
      await waybill.kill('projector');
      await waybill.startService('projector');
      await api.stop(`rebuilt-${n}`, n % 2 === 0);
    }
    const { natsUrl, databaseUrl } = waybill.stack;
    const main = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));
    const env = { WAYBILL_NATS_URL: natsUrl, WAYBILL_DATABASE_URL: databaseUrl };
    const { stdout } = await promisify(execFile)(process.execPath, [main, 'state', '--rebuild', '--json'], { env });
    const report = JSON.parse(stdout) as { ok: boolean; tables: { equal: boolean; rows: number; table: string }[] };
    expect(report.tables.filter(({ equal }) => !equal)).toEqual([]);
    expect(report.ok).toBe(true);
    expect(report.tables.find(({ table }) => table === 'txn_object')!.rows).toBeGreaterThan(50);
  }, 90_000);
});
