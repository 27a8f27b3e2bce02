import { randomBytes, randomInt } from 'node:crypto';
import { connect, Journal, type NatsLink } from '@waybill/journal';
import { MAX_BIGINT, MAX_INDEX_KEY_BYTES, MAX_INTEGER } from '@waybill/model';
import { unpackArchive } from '@waybill/model/snapshot-archive';
import { BatchWriter, loadSnapshot, migrate, openPool, ReadModel } from '@waybill/projection';
import {
  type Applied,
  digestLines,
  eventsOf,
  fixtures,
  readArchive,
  STORED_COLUMNS,
  StateMachine,
  TABLE_NAMES,
  type TableName,
  type Txn,
  Write,
} from '@waybill/state';
import { Client, type Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Transactions of one stretched log, and how many of these logs follow each other. */
const TXNS = 300;
const LOGS = 3;
/** Until all of it is projected and applied here, milliseconds. */
const PATIENCE_MS = 120_000;

const seed = Number(process.env['SEED'] ?? '') || randomInt(2 ** 31);

let waybill: WaybillProcesses;
let link: NatsLink;
let journal: Journal;
let pool: Pool;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'api']);
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  journal = new Journal(link);
  pool = openPool(waybill.stack.databaseUrl);
});

afterAll(async () => {
  journal.close();
  await pool.end();
  await link.close();
  await waybill.stop();
});

/** What the log says up to an index, transaction by transaction. */
async function replayed(to: number): Promise<{ machine: StateMachine; applied: Applied[] }> {
  const machine = new StateMachine();
  const applied: Applied[] = [];
  let failure: Error | undefined;
  const onTxns = (txns: readonly Txn[]): void => {
    for (const txn of txns) if (txn.index <= to) applied.push(machine.apply(txn));
  };
  const follower = await journal.follow({ from: 1, onTxns, onError: (error) => (failure = error) });
  await eventually(
    `the log is applied to ${to}`,
    () => {
      if (failure) throw failure;
      return machine.appliedIndex >= to;
    },
    PATIENCE_MS,
  );
  await follower.stop();
  return { machine, applied };
}

/** Lists of the API, by the table they show. */
const LISTS: Partial<Record<TableName, string>> = {
  jobs: '/v1/jobs',
  evals: '/v1/evaluations',
  allocs: '/v1/allocations',
  deployment: '/v1/deployments',
  nodes: '/v1/nodes',
  node_pools: '/v1/node/pools',
  namespaces: '/v1/namespaces',
  csi_plugins: '/v1/plugins?type=csi',
  csi_volumes: '/v1/volumes?type=csi',
  host_volumes: '/v1/volumes?type=host',
  scaling_policy: '/v1/scaling/policies',
};

/** Namespace and ID of a row, or of what is shown of it; the name where it has no ID. */
const nameOf = (row: object): string =>
  JSON.stringify(['Namespace', 'ID' in row ? 'ID' : 'Name'].map((member) => Reflect.get(row, member) ?? ''));

const COMMANDS = [
  'job status -namespace=*',
  'node status',
  'eval list -namespace=*',
  'deployment list -namespace=*',
  'namespace list',
  'node pool list',
  'volume status -namespace=*',
  'service list -namespace=*',
  'log',
];
/** What no URL can hold. */
const HALF_A_PAIR = /\p{Surrogate}/u;
/** Everything that drives a terminal, but the ends of lines. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f]/;

it('the longest and strangest values that are accepted are stored, and can be read everywhere; all others are refused with a reason', async () => {
  console.info(`seed ${seed}: SEED=${seed} repeats it`);
  for (let round = 0; round < LOGS; round++)
    await Promise.all(
      fixtures
        .aStretchedLog(seed + round, TXNS)
        .filter(({ type }) => type !== 'HistoryErase') // the frames before it would be gone, as they should
        .map((txn) => journal.publish({ ...txn, requestId: `${round}/${txn.requestId}` }, { deadlineMs: PATIENCE_MS })),
    );
  const { last } = await journal.bounds();
  // Postgres, at the log's end: every row as it is.
  const model = new ReadModel(pool);
  await eventually('all is projected', async () => (await model.appliedIndex()) >= last, PATIENCE_MS);
  const loaded = new StateMachine();
  const { machine, applied } = await replayed(await loadSnapshot(pool, loaded));
  for (const { txn, verdict } of applied)
    if (verdict.kind === 'refused') expect(verdict.error, `${txn.type} at ${txn.index}`).not.toBe('');
  const wanted = new Set(digestLines(machine.tables));
  expect(
    [...digestLines(loaded.tables)].filter((line) => !wanted.delete(line)).map((line) => line.slice(0, 200)),
  ).toEqual([]);
  expect(wanted.size).toBe(0);

  // EVENTS: every frame.
  const frames = applied.map(eventsOf).filter((frame) => frame !== null);
  const end = frames.at(-1)?.Index ?? 0;
  const reader = await EventReader.open(`${waybill.api.url}/v1/event/stream?index=1&namespace=*`);
  await reader.until((lines) => (lines.at(-1)?.Index ?? 0) >= end);
  reader.close();
  const told = new Set(reader.lines.map(({ Index }) => Index));
  expect(frames.map(({ Index }) => Index).filter((index) => !told.has(index))).toEqual([]);

  // An archive.
  const saved = Buffer.from(await (await waybill.api.raw('/v1/operator/snapshot')).arrayBuffer());
  const { state } = await unpackArchive(saved);
  const archived = readArchive(state.toString().trimEnd().split('\n'));
  for (const name of TABLE_NAMES)
    if (name !== 'leases') expect(archived[name]?.length ?? 0, name).toBe(machine.tables[name].size);

  // The API, and a job by its name wherever a URL can have it.
  for (const [name, path] of Object.entries(LISTS)) {
    const rows = await waybill.api.get<object[]>(`${path}${path.includes('?') ? '&' : '?'}namespace=*`);
    const shown = new Set(rows.map(nameOf));
    const stored = [...machine.tables[name as TableName].all()].map(nameOf);
    expect(
      stored.filter((row) => !shown.has(row)),
      path,
    ).toEqual([]);
  }
  for (const { Namespace, ID } of machine.tables.jobs.all()) {
    if (HALF_A_PAIR.test(ID + Namespace) || encodeURIComponent(ID).length > 4_000) continue;
    const path = `/v1/job/${encodeURIComponent(ID)}?namespace=${encodeURIComponent(Namespace)}`;
    const answer = await waybill.api.raw(path);
    expect(answer.status, `${path}: ${await answer.text()}`).toBeLessThan(500);
  }

  // Views for people's own SQL.
  for (const view of [
    'jobs',
    'job_summaries',
    'allocations',
    'evaluations',
    'deployments',
    'nodes',
    'transactions',
    'changes',
  ])
    await pool.query(`select * from reporting.${view}`);

  // The command line.
  for (const words of COMMANDS) {
    const { code, out, err } = await runCli(waybill.api.url, words.split(' '));
    expect(code, `${words}: ${err}`).toBe(0);
    expect(CONTROL.exec(out), words).toBeNull();
  }
}, 300_000);

/** Texts that no compression makes shorter. */
const incompressible = (length: number): string => randomBytes(length).toString('base64url').slice(0, length);

/** Members that keys of tables and of the history are made of. */
const NAMED = { Namespace: 'n', ID: 'i', JobID: 'j', Name: 'n', Role: 'r', Job: null };

function* extremeRows(table: TableName): Generator<object> {
  const { keys, bigints, integers = [] } = STORED_COLUMNS[table];
  const numbers = [...bigints.map((name) => [name, MAX_BIGINT]), ...integers.map((name) => [name, MAX_INTEGER])];
  for (const key of keys)
    // Alone the longest, and all together.
    for (let longest = 0; longest < key.length; longest++) {
      const lengths = key.map((_, at) => (at === longest ? MAX_INDEX_KEY_BYTES - 4 * (key.length - 1) : 4));
      const texts = key.map((of, at) => [of, incompressible(lengths[at] ?? 0)] as const);
      const target = { Namespace: texts[0]?.[1], Job: texts[1]?.[1] };
      const isTarget = texts.some(([of]) => typeof of === 'function');
      yield {
        ...NAMED,
        ...Object.fromEntries(numbers),
        ...(isTarget ? { Target: target, JobACL: target } : Object.fromEntries(texts)),
      };
    }
}

it('the longest texts and largest numbers that the state machine takes fit every index and column of PostgreSQL', async () => {
  const client = new Client({ connectionString: waybill.stack.databaseUrl });
  await client.connect();
  await client.query('create database extremes');
  await client.end();
  const url = waybill.stack.databaseUrl.replace(/\/[^/]*$/, '/extremes');
  await migrate(url);
  const extremes = openPool(url);
  const writer = new BatchWriter(extremes);
  const machine = new StateMachine();
  let index = 0;
  try {
    for (const table of TABLE_NAMES)
      for (const row of extremeRows(table)) {
        index += 1;
        const w = new Write(machine.tables, index, MAX_BIGINT);
        w.put(table, row as never);
        const txn = fixtures.aTxn(index, 'Ignore', {}, { timeNs: MAX_BIGINT, requestId: `${index}` });
        await writer.write([{ txn, index, verdict: { kind: 'accepted' }, changes: w.commit() }]);
      }
    expect(await writer.appliedIndex()).toBe(index);
  } finally {
    await extremes.end();
  }
});

it('a request with a name or text that is too long is refused with its limit, and writes nothing', async () => {
  const job = (ID: string, over: object = {}): object => ({
    ID,
    Name: 'refused',
    Type: 'batch',
    Datacenters: ['*'],
    TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't', Driver: 'raw_exec', Config: { command: '/bin/true' } }] }],
    ...over,
  });
  await waybill.api.register(job('parent', { ParameterizedJob: {} }));
  await waybill.api.register(job('x'.repeat(512)));
  const { last } = await journal.bounds();
  const long = (length: number): string => 'x'.repeat(length);
  const refusals: readonly (readonly [path: string, body: object, text: string])[] = [
    ['/v1/jobs', { Job: job(long(513)) }, 'Job ID must be at most 512 bytes, currently 513'],
    ['/v1/jobs', { Job: job(incompressible(2_700)) }, 'Job ID must be at most 512 bytes, currently 2700'],
    ['/v1/job/parent/dispatch', { IdPrefixTemplate: long(129) }, 'dispatch ID prefix must be at most 128 bytes'],
    [`/v1/job/parent/dispatch?idempotency_token=${long(1_025)}`, {}, 'idempotency token must be at most 1024 bytes'],
    [`/v1/job/parent/versions/${long(256)}/tag`, {}, 'Tag name must be at most 255 bytes'],
    ['/v1/job/parent/scale', { Target: { Group: 'g' }, Message: long(4_097) }, 'message must be at most 4096 bytes'],
    ['/v1/job/parent/scale', { Target: { Group: 'g' }, Meta: { a: long(65_536) } }, 'meta must be at most 65536 bytes'],
    ['/v1/search', { Prefix: long(4_097), Context: 'all' }, 'text of a search must be at most 4096 bytes'],
    ['/v1/namespace', { Name: long(129) }, 'Must match regex'],
    [`/v1/node/pool/${long(129)}`, { Name: long(129) }, 'must match regex'],
  ];
  for (const [path, body, text] of refusals) {
    const answer = await waybill.api.raw(path, { method: 'PUT', body: JSON.stringify(body) });
    expect(answer.status, path).toBeGreaterThanOrEqual(400);
    expect(await answer.text(), path).toContain(text);
  }
  expect((await journal.bounds()).last).toBe(last);
});
