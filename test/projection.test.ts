import { randomUUID } from 'node:crypto';
import { startStack, type Stack } from '@waybill/embedded';
import {
  BatchWriter,
  DatabaseNewerError,
  dataSource,
  loadSnapshot,
  migrate,
  NotMigratedError,
  openPool,
  ProjectionMovedError,
} from '@waybill/projection';
import {
  type Applied,
  fixtures,
  StateMachine,
  TABLE_NAMES,
  type TableName,
  type TableRows,
  Write,
} from '@waybill/state';
import { Client, type Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let stack: Stack;
let url: string;
let pool: Pool;
const pools: Pool[] = [];

beforeAll(async () => {
  stack = await startStack({ restart: true });
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
    evals: [fixtures.anEval({ ...at, ID: fixtures.uuid(2) }), fixtures.anEval({ ...at, ID: fixtures.uuid(3) })],
    allocs: [fixtures.anAlloc({ ...at, ID: fixtures.uuid(4) }), fixtures.anAlloc({ ...at, ID: fixtures.uuid(5) })],
    deployment: [fixtures.aDeployment({ ...at, ID: fixtures.uuid(6) })],
    nodes: [fixtures.aNode({ ...at, ID: fixtures.uuid(7) }), fixtures.aNode({ ...at, ID: fixtures.uuid(8) })],
    node_pools: [fixtures.aNodePool({ ...at })],
    namespaces: [fixtures.aNamespace({ ...at })],
    service_registrations: [fixtures.aServiceRegistration({ ...at })],
    scheduler_config: [{ ...fixtures.aSchedulerConfiguration(), ...at }],
    cluster_meta: [{ ClusterID: randomUUID(), CreateTime: fixtures.timeNs, ModifyIndex: index }],
    leases: [{ Role: 'broker', Epoch: 3, Holder: 'h', ModifyIndex: index }],
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
    const source = await dataSource(url).initialize();
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

  it('ST-7: rows, table indexes and the applied index are stored together; a snapshot is the state as it was', async () => {
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

  it('ST-6: the window of request ids comes back as pruning left it, clocks out of order included', async () => {
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

  it('of two writers at once exactly one writes each index', async () => {
    const other = new BatchWriter(poolOf(url));
    for (let round = 0; round < 20; round++) {
      const batch = [scripted.next(putAll)];
      const ends = await Promise.allSettled([writer.write(batch), other.write(batch)]);
      expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
    }
    const { rows } = await pool.query('select count(*) as n from txn');
    expect(rows).toEqual([{ n: 20 }]);
  });

  it('refuses a hole in a batch', async () => {
    const first = scripted.next(putAll);
    scripted.next(putAll);
    await expect(writer.write([first, scripted.next(putAll)])).rejects.toThrow(RangeError);
    expect(await writer.appliedIndex()).toBe(0);
  });
});
