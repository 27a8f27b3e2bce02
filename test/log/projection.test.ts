import { randomUUID } from 'node:crypto';
import type { Stack } from '@waybill/embedded';
import {
  BatchWriter,
  HistoryRetention,
  inTransaction,
  DatabaseNewerError,
  type Listed,
  loadSnapshot,
  migrate,
  NotMigratedError,
  openPool,
  ProjectionMovedError,
  ReadModel,
  typeOrmSource,
} from '@waybill/projection';
import { type Allocation, defaultSchedulerConfiguration } from '@waybill/model';
import {
  type Applied,
  fixtures,
  StateMachine,
  TABLE_NAMES,
  type TableName,
  type TableRows,
  Write,
} from '@waybill/state';
import { Client, type Pool, type PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startEmptyStack } from '../support/begun-databases.js';

let stack: Stack;
let url: string;
let pool: Pool;
const pools: Pool[] = [];

beforeAll(async () => {
  stack = await startEmptyStack({ restart: true });
});

afterAll(async () => {
  await stack.stop();
});

/** A database of its own, empty. */
async function freshDatabase(): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return stack.databaseUrl.replace(/\/[^/]*$/, `/${name}`);
}

function poolOf(databaseUrl: string): Pool {
  const opened = openPool(databaseUrl, { size: 4 });
  pools.push(opened);
  return opened;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((one) => one.end()));
});

it('a server that does not answer is not waited for for ever, alone or in a transaction; the next question is answered', async () => {
  const patient = openPool(stack.databaseUrl, { size: 1, answerTimeoutMs: 200 });
  pools.push(patient);
  await expect(patient.query('select pg_sleep(60)')).rejects.toThrow('Query read timeout');
  const inside = inTransaction(patient, 'snapshot', (client) => client.query('select pg_sleep(60)'));
  await expect(inside).rejects.toThrow('Query read timeout');
  expect((await patient.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

/** A machine whose transactions write rows directly, so that every table is reached whatever the appliers do. */
class Scripted {
  readonly machine = new StateMachine();
  private index = 0;

  next(write: (w: Write) => void, requestId: string = randomUUID(), timeNs = fixtures.timeNs): Applied {
    this.index += 1;
    const txn = fixtures.aTxn(this.index, 'Ignore', {}, { requestId, timeNs });
    const w = new Write(this.machine.tables, this.index, timeNs);
    write(w);
    const changes = w.commit();
    const verdict = w.verdict(changes);
    this.machine.requests.remember({ requestId, index: this.index, timeNs, rejected: null });
    this.machine.startAt(this.index);
    return { txn, index: this.index, verdict, changes };
  }
}

/** Somebody holds the lock of the projection's row. */
async function untilLocked(on: Pool): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const free = await on.query('select 1 from projection for update skip locked');
    if (free.rowCount === 0) return;
    if (performance.now() > deadline) throw new Error('nobody took the lock');
  }
}

/** Every table with its index and its rows by key: the order of rows is no part of the state. */
function contentOf(machine: StateMachine): Record<string, unknown> {
  return Object.fromEntries(
    TABLE_NAMES.map((name) => {
      const table: { all(): Iterable<object>; keyOf(row: never): string; tableIndex: number } = machine.tables[name];
      const rows = Object.fromEntries([...table.all()].map((row) => [table.keyOf(row as never), row]));
      return [name, { index: table.tableIndex, rows }];
    }),
  );
}

const awkward = 'a\u0000b\ud83d\ue000.> *"\\u0000';

/** At least two rows of every table, with names that a database or a subject could stumble over. */
function everyTable(index: number): { [N in TableName]: TableRows[N][] } {
  const at = { CreateIndex: index, ModifyIndex: index };
  const jobs = [
    fixtures.aJob({ ...at, ID: 'web', JobModifyIndex: index }),
    fixtures.aJob({ ...at, ID: awkward, Meta: { [awkward]: awkward }, JobModifyIndex: index }),
  ];
  return {
    jobs,
    job_version: jobs,
    job_submission: [
      {
        Source: awkward,
        Format: 'json',
        VariableFlags: null,
        Variables: '',
        Namespace: 'default',
        JobID: 'web',
        Version: 0,
        JobModifyIndex: index,
      },
    ],
    job_summary: [{ JobID: awkward, Namespace: 'default', Summary: {}, Children: null, ...at }],
    periodic_launch: [{ ID: awkward, Namespace: 'default', Launch: '2026-01-01T00:00:00Z', ...at }],
    scaling_event: [{ JobID: awkward, Namespace: 'default', ScalingEvents: {}, ...at }],
    scaling_policy: [fixtures.aScalingPolicy({ ...at, ID: fixtures.uuid(11) })],
    evals: [fixtures.anEval({ ...at, ID: fixtures.uuid(2) }), fixtures.anEval({ ...at, ID: fixtures.uuid(3) })],
    allocs: [fixtures.anAlloc({ ...at, ID: fixtures.uuid(4) }), fixtures.anAlloc({ ...at, ID: fixtures.uuid(5) })],
    deployment: [fixtures.aDeployment({ ...at, ID: fixtures.uuid(6) })],
    nodes: [fixtures.aNode({ ...at, ID: fixtures.uuid(7) }), fixtures.aNode({ ...at, ID: fixtures.uuid(8) })],
    node_pools: [fixtures.aNodePool({ ...at })],
    namespaces: [fixtures.aNamespace({ ...at })],
    service_registrations: [fixtures.aServiceRegistration({ ...at })],
    csi_volumes: [
      fixtures.aCSIVolume({ ...at, ID: awkward, Secrets: { [awkward]: awkward } }),
      fixtures.aCSIVolume({ ...at, WriteClaims: { [fixtures.uuid(4)]: fixtures.aCSIClaim() } }),
    ],
    csi_plugins: [fixtures.aCSIPlugin({ ...at }), fixtures.aCSIPlugin({ ...at, ID: awkward })],
    host_volumes: [fixtures.aHostVolume({ ...at, ID: fixtures.uuid(9) })],
    task_volume: [fixtures.aTaskVolumeClaim({ ...at, ID: fixtures.uuid(10) })],
    scheduler_config: [{ ...fixtures.aSchedulerConfiguration(), ...at }],
    cluster_meta: [{ ClusterID: randomUUID(), CreateTime: fixtures.timeNs, ModifyIndex: index }],
    leases: [{ Role: 'broker', Epoch: 3, Holder: 'h', ModifyIndex: index }],
    acl_policy: [
      fixtures.aPolicy({ ...at }),
      fixtures.aPolicy({
        ...at,
        Name: awkward,
        Rules: awkward,
        JobACL: { Namespace: awkward, JobID: '', Group: '', Task: '' },
      }),
    ],
    acl_token: [
      fixtures.aToken({ ...at }),
      fixtures.aToken({
        ...at,
        Policies: [awkward],
        ExpirationTime: '2026-01-02T00:00:00.000Z',
        ExpirationTTL: 3_600e9,
      }),
    ],
    acl_token_bootstrap: [{ ModifyIndex: index }],
    acl_roles: [fixtures.aRole({ ...at })],
    acl_auth_methods: [fixtures.anAuthMethod({ Default: true, ...at })],
    acl_binding_rules: [fixtures.aBindingRule({ ...at })],
    root_keys: [fixtures.aRootKey({ ...at })],
    node_introductions: [{ TokenID: 't1', NodeID: 'n', KeepUntil: 1, ...at }],
    variables: [fixtures.aVariable({ ...at })],
    one_time_token: [fixtures.aOneTimeToken({ ...at })],
  };
}

function putAll(w: Write): void {
  const tables = everyTable(w.index);
  for (const name of TABLE_NAMES) for (const row of tables[name]) w.put(name, row as never);
}

describe('schema', () => {
  it('is the same in the migrations and in the entities', async () => {
    url = await freshDatabase();
    await migrate(url);
    const source = await (await typeOrmSource(url)).initialize();
    try {
      const { upQueries } = await source.driver.createSchemaBuilder().log();
      expect(upQueries.map((query) => query.query)).toEqual([]);
    } finally {
      await source.destroy();
    }
  });

  it('is made once by many services that start together', async () => {
    url = await freshDatabase();
    await Promise.all(Array.from({ length: 6 }, () => migrate(url)));
    await migrate(url);
    expect(await new BatchWriter(poolOf(url)).appliedIndex()).toBe(0);
  });

  it('of a newer version is refused, with its name, and left alone', async () => {
    url = await freshDatabase();
    await migrate(url);
    pool = poolOf(url);
    await pool.query(`insert into schema_migrations (timestamp, name) values (9999999999999, 'Later9999999999999')`);
    await expect(migrate(url)).rejects.toThrow(DatabaseNewerError);
    await expect(migrate(url)).rejects.toThrow('Later9999999999999');
  });

  it('is missed with a clear error before the first migration', async () => {
    url = await freshDatabase();
    await expect(loadSnapshot(poolOf(url), new StateMachine())).rejects.toThrow(NotMigratedError);
  });
});

describe('batches and snapshot', () => {
  let scripted: Scripted;
  let writer: BatchWriter;

  beforeEach(async () => {
    url = await freshDatabase();
    await migrate(url);
    pool = poolOf(url);
    writer = new BatchWriter(pool);
    scripted = new Scripted();
  });

  async function loaded(): Promise<StateMachine> {
    const machine = new StateMachine();
    await loadSnapshot(pool, machine);
    return machine;
  }

  it('rows, table indexes and the applied index are stored together; a snapshot is the state as it was', async () => {
    await writer.write([scripted.next(putAll), scripted.next(() => {})]);
    await writer.write([
      scripted.next((w) => {
        w.remove('evals', fixtures.uuid(2));
        const alloc = w.tables.allocs.get(fixtures.uuid(4))!;
        w.put('allocs', { ...alloc, ClientStatus: 'failed', ModifyIndex: w.index });
      }),
    ]);
    const machine = await loaded();
    expect(machine.appliedIndex).toBe(3);
    expect(contentOf(machine)).toEqual(contentOf(scripted.machine));
    expect([...machine.requests.entries()]).toEqual([...scripted.machine.requests.entries()]);
  });

  it('ST-140, ST-141: who reads sees one index to the end, while somebody writes, and neither waits for the other', async () => {
    const at = (w: Write) => ({ CreateIndex: 1, ModifyIndex: w.index });
    const put = (w: Write): void => {
      w.put('evals', fixtures.anEval({ ID: fixtures.uuid(1), ...at(w) }));
      w.put('deployment', fixtures.aDeployment({ ID: fixtures.uuid(2), ...at(w) }));
    };
    await writer.write([scripted.next(put)]);
    const indexes = async (client: PoolClient) => {
      const { rows } = await client.query<{ index: string }>(
        `select applied as index from projection
         union all select modify_index from deployment union all select modify_index from evals`,
      );
      return rows.map(({ index }) => Number(index));
    };
    await inTransaction(pool, 'snapshot', async (reader) => {
      expect(await indexes(reader)).toEqual([1, 1, 1]);
      await writer.write([scripted.next(put)]); // it would hang here if it waited for the reader
      expect(await indexes(reader)).toEqual([1, 1, 1]);
    });
    await inTransaction(pool, 'snapshot', async (reader) => expect(await indexes(reader)).toEqual([2, 2, 2]));
  });

  it('folds what happened to a row within a batch to its end', async () => {
    const put = (w: Write): void => {
      putAll(w);
      w.put('evals', fixtures.anEval({ ID: fixtures.uuid(99), CreateIndex: w.index, ModifyIndex: w.index }));
    };
    const batch = [
      scripted.next(put),
      scripted.next((w) => w.remove('evals', fixtures.uuid(99))),
      scripted.next((w) => w.remove('allocs', fixtures.uuid(4))),
      scripted.next((w) => w.put('allocs', fixtures.anAlloc({ ID: fixtures.uuid(4), CreateIndex: 4, ModifyIndex: 4 }))),
    ];
    await writer.write(batch);
    expect(contentOf(await loaded())).toEqual(contentOf(scripted.machine));
  });

  it('the window of request ids comes back as pruning left it, clocks out of order included', async () => {
    const seconds = (s: number): number => fixtures.timeNs + s * 1e9;
    const times = [0, 400, 100, 300, 420, 260, 500, 360];
    await writer.write(times.map((s, i) => scripted.next(() => {}, `request-${i}`, seconds(s))));
    await writer.write([scripted.next(() => {}, '', seconds(900))]);
    expect([...(await loaded()).requests.entries()]).toEqual([...scripted.machine.requests.entries()]);
  });

  it('a writer that is not where the projection is writes nothing', async () => {
    const first = scripted.next(putAll);
    const second = scripted.next(putAll);
    await writer.write([first, second]);
    const lost = writer.write([second, scripted.next(putAll)]);
    await expect(lost).rejects.toThrow(ProjectionMovedError);
    await expect(lost).rejects.toMatchObject({ expected: 1, actual: 2 });
    expect(await writer.appliedIndex()).toBe(2);
    expect((await loaded()).tables.evals.tableIndex).toBe(2);
  });

  it('rows that turn out to be there are written over, none is set aside, and the connection goes on', async () => {
    const alone = openPool(url, { size: 1 });
    pools.push(alone);
    const first = scripted.next(putAll);
    await new BatchWriter(alone).write([first]);
    const put = (w: Write): void => {
      for (let n = 100; n < 200; n++)
        w.put('evals', fixtures.anEval({ ID: fixtures.uuid(n), CreateIndex: w.index, ModifyIndex: w.index }));
    };
    const second = scripted.next(put);
    await pool.query(`insert into evals select (e).* from (
      select jsonb_populate_record(e, jsonb_build_object('id', '${fixtures.uuid(150)}')) as e from evals e limit 1) x`);
    expect(await new BatchWriter(alone).write([second])).toEqual([]);
    expect(await writer.appliedIndex()).toBe(2);
    expect(contentOf(await loaded())).toEqual(contentOf(scripted.machine));
  });

  it('a batch whose transaction the server does not begin writes nothing, and the next writer does', async () => {
    const refusing = openPool(url, { size: 1 });
    pools.push(refusing);
    refusing.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      const begins = (text: unknown): boolean => typeof text === 'string' && text.startsWith('begin');
      Object.assign(client, { query: (text: unknown) => query(begins(text) ? 'select * from nowhere' : text) });
    });
    const first = scripted.next(putAll);
    await expect(new BatchWriter(refusing).write([first])).rejects.toThrow('relation "nowhere" does not exist');
    expect(await writer.appliedIndex()).toBe(0);
    expect([...(await loaded()).tables.jobs.all()]).toEqual([]);
    await writer.write([first]);
    expect(contentOf(await loaded())).toEqual(contentOf(scripted.machine));
  });

  it('of two writers at once exactly one writes each index', async () => {
    const other = new BatchWriter(poolOf(url));
    for (let round = 0; round < 20; round++) {
      const batch = [scripted.next(putAll)];
      const ends = await Promise.allSettled([writer.write(batch), other.write(batch)]);
      expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
    }
    const { rows } = await pool.query('select count(*) as n from txn');
    expect(rows).toEqual([{ n: '20' }]);
  });

  it('a writer that froze in the middle of a batch holds its successor up only for a moment', async () => {
    const freezing = await pool.connect();
    const frozen = {
      connect: (): Promise<unknown> => {
        let left = 2; // begin, and the compare-and-set that takes the row's lock
        const query = (asked: string): unknown => (left-- > 0 ? freezing.query(asked) : new Promise(() => {}));
        return Promise.resolve(Object.assign(Object.create(freezing) as PoolClient, { query, release: () => {} }));
      },
    };
    const batch = [scripted.next(putAll)];
    void new BatchWriter(frozen as Pool).write(batch);
    await untilLocked(pool);
    await writer.write(batch);
    expect(await writer.appliedIndex()).toBe(1);
    freezing.release(true);
  });

  it('members of objects come back in the order they were written in', async () => {
    const config = { zebra: 1, a: { c: 1, bb: 2 }, '10': 'x', mount: [{ z: 1, y: 2 }] };
    const Tasks = [fixtures.aTask({ Config: config })];
    await writer.write([
      scripted.next((w) => w.put('jobs', fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Tasks })] }))),
    ]);
    const job = (await loaded()).tables.jobs.get('default/web');
    expect(JSON.stringify(job)).toBe(JSON.stringify(scripted.machine.tables.jobs.get('default/web')));
    const { row } = await new ReadModel(pool).job('default', 'web');
    expect(JSON.stringify(row?.TaskGroups[0]?.Tasks[0]?.Config)).toBe(JSON.stringify(config));
  });

  describe('jobs of allocations', () => {
    const job = (over: object): Allocation['Job'] => fixtures.aJob({ Meta: { awkward }, ...over });
    const alloc = (n: number, Job: Allocation['Job']): Allocation => fixtures.anAlloc({ ID: fixtures.uuid(n), Job });
    const storedJobs = async (): Promise<unknown[]> =>
      (await pool.query<{ version: string }>('select version from alloc_job order by version')).rows.map((row) =>
        Number(row.version),
      );

    it('are stored once per content, shared after a snapshot, and answered with every allocation', async () => {
      const [first, second] = [job({ Version: 1 }), job({ Version: 2 })];
      const allocs = [
        alloc(1, first),
        alloc(2, first),
        alloc(3, second),
        alloc(4, job({ Version: 2 })),
        alloc(5, null),
      ];
      await writer.write([scripted.next((w) => allocs.forEach((one) => w.put('allocs', one)))]);
      expect(await storedJobs()).toEqual([1, 2]);
      const machine = await loaded();
      expect(contentOf(machine)).toEqual(contentOf(scripted.machine));
      const jobOf = (n: number): Allocation['Job'] | undefined => machine.tables.allocs.get(fixtures.uuid(n))?.Job;
      expect(jobOf(2)).toBe(jobOf(1));
      expect(jobOf(4)).toBe(jobOf(3));
      const model = new ReadModel(pool);
      expect((await model.allocations({ namespaces: '*' })).rows).toEqual(allocs);
      for (const one of allocs) expect((await model.allocation(one.ID)).row).toEqual(one);
    });

    it('API-631: go with the last allocation and the last record that name them, not with the version of the job', async () => {
      const [first, second] = [job({ Version: 1 }), job({ Version: 2 })];
      await writer.write([
        scripted.next((w) => w.put('job_version', fixtures.aJob({ Version: 1 }))),
        scripted.next((w) => [alloc(1, first), alloc(2, first)].forEach((one) => w.put('allocs', one))),
      ]);
      await writer.write([
        scripted.next((w) => w.remove('job_version', w.tables.job_version.keyOf(fixtures.aJob({ Version: 1 })))),
        scripted.next((w) => w.put('allocs', { ...w.tables.allocs.get(fixtures.uuid(1))!, Job: second })),
      ]);
      expect((await loaded()).tables.job_version.size).toBe(0);
      expect(await storedJobs()).toEqual([1, 2]);
      const retention = new HistoryRetention(pool);
      const forgotten = (): Promise<number> => retention.trim(0, new AbortController().signal);
      await writer.write([scripted.next((w) => w.remove('allocs', fixtures.uuid(2)))]);
      await forgotten();
      expect(await storedJobs()).toEqual([1, 2]);
      await pool.query('delete from txn_object');
      await forgotten();
      expect(await storedJobs()).toEqual([2]);
      const batch = [
        scripted.next((w) => w.put('allocs', alloc(6, first))),
        scripted.next((w) => w.remove('allocs', fixtures.uuid(6))),
        scripted.next((w) => w.remove('allocs', fixtures.uuid(1))),
        scripted.next((w) => w.put('allocs', alloc(7, job({ Version: 2 })))),
      ];
      await writer.write(batch);
      expect(await storedJobs()).toEqual([1, 2]);
      expect(contentOf(await loaded())).toEqual(contentOf(scripted.machine));
    });
  });

  it('refuses a hole in a batch', async () => {
    const first = scripted.next(putAll);
    scripted.next(putAll);
    await expect(writer.write([first, scripted.next(putAll)])).rejects.toThrow(RangeError);
    expect(await writer.appliedIndex()).toBe(0);
  });
});

describe('read model', () => {
  let scripted: Scripted;
  let model: ReadModel;

  beforeEach(async () => {
    url = await freshDatabase();
    await migrate(url);
    pool = poolOf(url);
    model = new ReadModel(pool);
    scripted = new Scripted();
  });

  const write = (...changes: ((w: Write) => void)[]): Promise<unknown> =>
    new BatchWriter(pool).write(changes.map((change) => scripted.next(change)));
  const at = (w: Write): { CreateIndex: number; ModifyIndex: number } => ({
    CreateIndex: w.index,
    ModifyIndex: w.index,
  });

  /** Follows the tokens to the end. */
  async function allPages<Row>(read: (nextToken: string) => Promise<Listed<Row>>): Promise<Row[][]> {
    const pages: Row[][] = [];
    for (let token = ''; ;) {
      const page = await read(token);
      pages.push([...page.rows]);
      if (page.nextToken === '') return pages;
      token = page.nextToken;
    }
  }

  it('ST-29: a found object answers with its ModifyIndex, an absent one and a list with the index of the table', async () => {
    await write(
      putAll,
      (w) => w.remove('evals', fixtures.uuid(2)),
      (w) => w.remove('allocs', fixtures.uuid(4)),
    );
    expect(await model.evaluation(fixtures.uuid(3))).toMatchObject({ index: 1, row: { ID: fixtures.uuid(3) } });
    expect(await model.evaluation(fixtures.uuid(2))).toEqual({ index: 2, row: undefined });
    expect(await model.evaluations({ namespaces: '*' })).toMatchObject({ index: 2, rows: [{ ID: fixtures.uuid(3) }] });
    expect(await model.allocations({ namespaces: '*' })).toMatchObject({ index: 3 });
    expect(await model.tableIndex('evals', 'allocs')).toBe(3);
    expect(await model.appliedIndex()).toBe(3);
  });

  it('ST-29, API-32: answers about tables that were never written carry index 0', async () => {
    const empty = await Promise.all([
      model.job('default', 'web'),
      model.jobs({ namespaces: '*' }),
      model.jobVersions('default', 'web'),
      model.jobAllocations('default', 'web'),
      model.nodeAllocations(fixtures.uuid(1)),
      model.nodes(),
      model.deployments({ namespaces: ['default'] }),
      model.schedulerConfiguration(),
    ]);
    expect(empty.map((answer) => answer.index)).toEqual(empty.map(() => 0));
    expect(await model.tableIndex('evals', 'allocs')).toBe(0);
  });

  it('finds by names that SQL, JSON or LIKE could stumble over', async () => {
    const odd = ["it's", 'a%b', 'a_b', 'a\\b', awkward, '', 'ünïcode'];
    await write(...odd.map((ID) => (w: Write) => w.put('jobs', fixtures.aJob({ ...at(w), ID }))));
    for (const id of odd) expect((await model.job('default', id)).row?.ID).toBe(id);
    const found = await model.jobs({ namespaces: '*', prefix: 'a%' });
    expect(found.rows.map((row) => row.job.ID)).toEqual(['a%b']);
  });

  it('reads of one turn on which writes are decided take one statement, whatever the names', async () => {
    const names = ["it's", 'a%b', awkward, '', 'ünïcode'];
    await write(
      ...names.map((ID) => (w: Write) => w.put('jobs', fixtures.aJob({ ...at(w), ID, Namespace: awkward }))),
      (w) => w.put('namespaces', fixtures.aNamespace({ ...at(w), Name: awkward })),
      (w) => w.put('node_pools', fixtures.aNodePool({ ...at(w), Name: awkward })),
      (w) => w.put('scheduler_config', { ...defaultSchedulerConfiguration(), ...at(w) }),
    );
    const asked = vi.spyOn(pool, 'query');
    const { decisions } = model;
    const [found, absent, ...others] = await Promise.all([
      Promise.all(names.map((id) => decisions.job(awkward, id))),
      decisions.job('default', awkward),
      decisions.namespace(awkward),
      decisions.namespace('default'),
      decisions.nodePool(awkward),
      decisions.schedulerConfiguration(),
    ]);
    expect(asked).toHaveBeenCalledTimes(1);
    expect(found.map((job) => job?.ID)).toEqual(names);
    expect(absent).toBeUndefined();
    const one = { Name: awkward };
    expect(others).toEqual([expect.objectContaining(one), undefined, expect.objectContaining(one), expect.anything()]);
    expect((await decisions.schedulerConfiguration())?.ModifyIndex).toBe(names.length + 3);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it('API-63: pages hold every row once, in both directions, and a token of a deleted row still works', async () => {
    const ids = Array.from({ length: 7 }, (_, n) => fixtures.uuid(100 + n));
    await write(
      (w) => ids.slice(0, 4).forEach((ID) => w.put('evals', fixtures.anEval({ ...at(w), ID }))),
      (w) => ids.slice(4).forEach((ID) => w.put('evals', fixtures.anEval({ ...at(w), ID }))),
    );
    for (const reverse of [false, true]) {
      const pages = await allPages((nextToken) =>
        model.evaluations({ namespaces: ['default'], perPage: 3, nextToken, reverse }),
      );
      expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
      expect(pages.flat().map((row) => row.ID)).toEqual(reverse ? ids.toReversed() : ids);
    }
    const { nextToken } = await model.evaluations({ namespaces: '*', perPage: 2 });
    expect(nextToken).toBe(`1.${ids[2]}`);
    await write((w) => w.remove('evals', ids[2]!));
    const rest = await model.evaluations({ namespaces: '*', nextToken });
    expect(rest.rows.map((row) => row.ID)).toEqual(ids.slice(3));
  });

  it('API-62: a page is full after filtering, and the last one has no token', async () => {
    await write((w) => {
      for (let n = 0; n < 1_700; n++)
        w.put('evals', fixtures.anEval({ ...at(w), ID: fixtures.uuid(n), Priority: n % 400 }));
    });
    const pages = await allPages((nextToken) =>
      model.evaluations({ namespaces: '*', perPage: 2, nextToken, keep: (row) => row.Priority === 7 }),
    );
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    const none = await model.evaluations({ namespaces: '*', perPage: 2, keep: () => false });
    expect(none).toMatchObject({ rows: [], nextToken: '', index: 1 });
  });

  it('API-65: jobs by namespace and id with their summaries, allocations by id when searched by prefix', async () => {
    await write((w) => {
      for (const Namespace of ['b', 'a'])
        for (const ID of ['web2', 'web', 'db']) w.put('jobs', fixtures.aJob({ ...at(w), Namespace, ID, Name: ID }));
      w.put('job_summary', { JobID: 'web', Namespace: 'a', Summary: {}, Children: null, ...at(w) });
      for (const ID of ['00000000-ff', '00000000-ee', '11111111-aa'])
        w.put('allocs', fixtures.anAlloc({ ...at(w), ID, Namespace: 'a' }));
    });
    const jobs = await model.jobs({ namespaces: ['a', 'b'], prefix: 'web' });
    expect(jobs.rows.map(({ job, summary }) => [job.Namespace, job.ID, summary?.JobID])).toEqual([
      ['a', 'web', 'web'],
      ['a', 'web2', undefined],
      ['b', 'web', undefined],
      ['b', 'web2', undefined],
    ]);
    expect((await model.jobs({ namespaces: '*', perPage: 4 })).nextToken).toBe('b.web');
    const found = await model.allocations({ namespaces: ['a'], prefix: '00000000', perPage: 1 });
    expect(found).toMatchObject({ rows: [{ ID: '00000000-ee' }], nextToken: '00000000-ff' });
  });

  it('ST-180: a job does not pick up rows of one whose name it begins', async () => {
    await write((w) => {
      for (const JobID of ['web', 'web2']) {
        w.put('allocs', fixtures.anAlloc({ ...at(w), JobID }));
        w.put('evals', fixtures.anEval({ ...at(w), JobID }));
        w.put('deployment', fixtures.aDeployment({ ...at(w), JobID }));
        w.put('job_version', fixtures.aJob({ ...at(w), ID: JobID }));
      }
    });
    const lists = await Promise.all([
      model.jobAllocations('default', 'web'),
      model.jobEvaluations('default', 'web'),
      model.jobDeployments('default', 'web'),
      model.jobVersions('default', 'web'),
    ]);
    expect(lists.map((list) => list.rows.length)).toEqual([1, 1, 1, 1]);
  });

  it('API-607: allocations of a purged job are not those of the job registered anew', async () => {
    await write(
      (w) => w.put('allocs', fixtures.anAlloc({ ...at(w), JobID: 'web' })),
      (w) => {
        w.put('jobs', fixtures.aJob({ ...at(w), ID: 'web' }));
        w.put('allocs', fixtures.anAlloc({ ...at(w), JobID: 'web' }));
      },
    );
    expect((await model.jobAllocations('default', 'web')).rows.map((row) => row.CreateIndex)).toEqual([2]);
    expect((await model.jobAllocations('default', 'web', { all: true })).rows).toHaveLength(2);
  });

  it('ST-29: allocations of a node answer with the highest ModifyIndex among them', async () => {
    const NodeID = fixtures.uuid(500);
    await write(
      (w) => w.put('allocs', fixtures.anAlloc({ ...at(w), NodeID })),
      (w) => w.put('allocs', fixtures.anAlloc({ ...at(w) })),
    );
    expect((await model.nodeAllocations(NodeID)).index).toBe(1);
    expect((await model.nodeAllocations(fixtures.uuid(501))).index).toBe(2);
  });

  it('tells the recorded verdict of a transaction', async () => {
    const refused = { kind: 'refused', code: 'not-found', error: 'no \u0000 such job' } as const;
    await new BatchWriter(pool).write([
      { ...scripted.next(() => {}, 'first'), verdict: { kind: 'accepted', result: { a: 1 } } },
      { ...scripted.next(() => {}, 'second'), verdict: refused },
      { ...scripted.next(() => {}, 'third'), verdict: { kind: 'noop' } },
    ]);
    expect(await model.txnVerdict(1)).toEqual({
      index: 1,
      requestId: 'first',
      verdict: { kind: 'accepted', result: { a: 1 } },
    });
    expect((await model.txnVerdict(2))?.verdict).toEqual(refused);
    expect((await model.txnVerdict(3))?.verdict).toEqual({ kind: 'noop' });
    expect(await model.txnVerdict(4)).toBeUndefined();
  });
});
