import { randomBytes, randomUUID } from 'node:crypto';
import type { Stack } from '@waybill/embedded';
import { connect, ensureStreams, initialise, Journal, type NatsLink } from '@waybill/journal';
import { termOf } from '@waybill/roles';
import type { Timers } from '@waybill/model';
import {
  HistoryRetention,
  loadSnapshot,
  NatsEventStorage,
  openPool,
  ProjectionFeed,
  ReadModel,
  SetAsideError,
  SetAsideRows,
  subscribeToAnnouncements,
  TransactionLog,
} from '@waybill/projection';
import { NatsAnnouncer, NatsEventStream, PostgresStore, Projector } from '@waybill/projector';
import {
  draftTxn,
  fixtures,
  serviceActor,
  stateDigest,
  StateMachine,
  type Txn,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';
import { type Logger, silentLogger } from '@waybill/telemetry';
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startMigratedStack } from '../support/begun-databases.js';
import { eventually } from '../support/wait.js';

const clock = { nowMs: () => Date.now() };
const timers: Timers = {
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
const term = termOf('projector', 1);
/** What `index row size exceeds btree version 4 maximum` is about: it cannot be compressed. */
const LONG_ID = randomBytes(1_350).toString('hex');
const POISON = 'poison';
const LARGE = 'large';

let stack: Stack;
let link: NatsLink;
let journal: Journal;
let pool: Pool;
let feed: ProjectionFeed;
let model: ReadModel;
let unsubscribe: () => void;
let told: string[];
let projector: Projector;

beforeEach(async () => {
  stack = await startMigratedStack({ restart: true });
  link = await connect({ url: stack.natsUrl, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
  journal = new Journal(link);
  await initialise(journal, { region: 'global', clock, newId: randomUUID });
  pool = openPool(stack.databaseUrl);
  model = new ReadModel(pool);
  feed = new ProjectionFeed({ record: model, clock, timers });
  unsubscribe = subscribeToAnnouncements(link.nc, feed, silentLogger);
  told = [];
  projector = startProjector();
});

afterEach(async () => {
  await projector.stop();
  feed.stop();
  unsubscribe();
  journal.close();
  await pool.end();
  await link.close();
  await stack.stop();
});

function startProjector(): Projector {
  const logger: Logger = { ...silentLogger, error: (message: string) => void told.push(message) };
  const started = new Projector({
    log: journal,
    events: new NatsEventStream(link),
    store: new PostgresStore(pool),
    announcer: new NatsAnnouncer(link),
    clock,
    timers,
    logger,
    onDiverged: () => {},
  });
  started.start(term);
  return started;
}

async function publish<T extends TxnType>(type: T, payload: TxnPayloads[T]): Promise<number> {
  const meta = { timeNs: Date.now() * 1e6, requestId: randomUUID(), actor: serviceActor('test'), namespace: 'default' };
  return (await journal.publish(draftTxn(type, payload, meta))).index;
}

const registered = (ID: string, Priority = 50): Promise<number> =>
  publish('JobRegister', {
    ...fixtures.aRegistration(fixtures.aJob({ ID, Name: ID, Priority })),
    Eval: fixtures.anEval({ ID: randomUUID(), JobID: ID }),
  });
const purged = (JobID: string): Promise<number> =>
  publish('JobDeregister', { JobID, Purge: true, Eval: null } as never as TxnPayloads['JobDeregister']);

/** The state as the log makes it. */
async function replayed(to: number): Promise<StateMachine> {
  const machine = new StateMachine();
  await new Promise<void>((resolve, reject) => {
    const take = (txns: readonly Txn[]): void => {
      for (const txn of txns) if (txn.index <= to) machine.apply(txn);
      if (machine.appliedIndex === to) resolve();
    };
    void journal
      .follow({ from: 1, onTxns: take, onError: reject })
      .then((follower) => (stopFollowing = () => follower.stop()));
  });
  await stopFollowing();
  return machine;
}
let stopFollowing: () => Promise<void> = async () => {};

/** A copy that starts from Postgres has the same state and the same window of requests as one that read the log. */
async function expectWhole(to: number): Promise<void> {
  const loaded = new StateMachine();
  expect(await loadSnapshot(pool, loaded)).toBe(to);
  const machine = await replayed(to);
  expect(stateDigest(loaded)).toBe(stateDigest(machine));
  expect([...loaded.requests.entries()]).toEqual([...machine.requests.entries()]);
}

const partsAside = async (): Promise<string[]> => (await model.setAside.list(100)).map(({ part }) => part);

/** From now on PostgreSQL refuses what matches. */
const refuse = (table: string, condition: string): Promise<unknown> =>
  pool.query(`alter table "${table}" add constraint poison check (not (${condition}))`);
/** From now on the row of the job LARGE is too large for an index. */
async function refuseLarge(): Promise<void> {
  await pool.query(`create function digits(id text) returns text immutable language sql
    as $$ select string_agg(md5(id || n), '') from generate_series(1, 200) n $$`);
  await pool.query(`create index poison on jobs (digits(id)) where id = '${LARGE}'`);
}
const accept = (table: string): Promise<unknown> => pool.query(`alter table "${table}" drop constraint poison`);

describe('a row that PostgreSQL refuses', () => {
  it('is set aside; everything else is stored, read and announced, and the object alone answers why', async () => {
    await refuse('jobs', `id = '${POISON}'`);
    await refuseLarge();
    const [before, poison, large, after] = await Promise.all([
      registered('before'),
      registered(POISON),
      registered(LARGE),
      registered('after'),
    ]);
    for (const index of [before, poison, large, after])
      expect(await feed.waitFor(index, 20_000)).toMatchObject({ kind: 'accepted' });
    const last = Math.max(before, poison, large, after);

    const listed = await model.jobs({ namespaces: '*' });
    expect(listed.rows.map(({ job }) => job.ID)).toEqual(['after', 'before']);
    expect((await model.job('default', 'after')).row?.ID).toBe('after');
    const refusal = await model.job('default', POISON).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SetAsideError);
    expect(String(refusal)).toContain(`transaction ${poison}, JobRegister: new row for relation "jobs" violates check`);
    expect(String(refusal)).toContain('SQLSTATE 23514');
    await expect(model.job('default', LARGE)).rejects.toThrow(/index row size \d+ exceeds btree .*SQLSTATE 54000/);
    expect((await model.job('default', 'nobody')).row).toBeUndefined();
    expect(await model.decisions.job('default', POISON)).toMatchObject({ ID: POISON, Version: 0 });

    expect(await partsAside()).toEqual(['jobs', 'jobs']);
    expect(projector.stats()).toMatchObject({ setAside: 2, applied: last, sessions: 1 });
    expect(told.filter((line) => line.includes('set aside'))).toHaveLength(2);
    await expectWhole(last);
  });

  it('OP-124: is decided on all the same where it is a policy, a role or a token: what it denies stays denied', async () => {
    const policies = [POISON, 'other'].map((Name) => fixtures.aPolicy({ Name }));
    const ofJobs = fixtures.aPolicy({
      Name: `${POISON}-jobs`,
      JobACL: { Namespace: 'team', JobID: '', Group: '', Task: '' },
    });
    const role = fixtures.aRole({ Policies: [{ Name: POISON }] });
    const token = fixtures.aToken({ Policies: ['other'], Roles: [{ ID: role.ID, Name: role.Name }] });
    await refuse('acl_policy', `name like '${POISON}%'`);
    await refuse('acl_roles', `id = '${role.ID}'`);
    await refuse('acl_token', `accessor_id = '${token.AccessorID}'`);
    await publish('ACLPolicyUpsert', { Policies: [...policies, ofJobs] });
    await publish('ACLRolesUpsert', { Roles: [role], MustExist: false });
    await feed.waitFor(await publish('ACLTokenUpsert', { Tokens: [token] }), 20_000);
    expect(await partsAside()).toEqual(['acl_policy', 'acl_policy', 'acl_roles', 'acl_token']);
    const { access } = model;
    const names = (rows: readonly { readonly Name: string }[] = []) => rows.map(({ Name }) => Name).toSorted();
    const grants = await access.grantsBySecretHash(token.SecretHash);
    expect(grants?.roles.map(({ ID }) => ID)).toEqual([role.ID]);
    expect(names(grants?.policies)).toEqual(['other', POISON]);
    expect(names(await access.policiesNamed([POISON, 'nothing']))).toEqual([POISON]);
    const workload = { namespace: 'team', jobId: 'web', group: 'g', task: 't' };
    expect(names(await access.policiesOfWorkload(workload))).toEqual([ofJobs.Name]);
    expect(await access.grantsBySecretHash('unknown')).toBeUndefined();
  });

  it('a job ID that no index can hold, in the log of a version that had no limits, stops nobody', async () => {
    const long = await registered(LONG_ID);
    const after = await registered('after');
    await feed.waitFor(long, 20_000); // refused when it is applied, or set aside
    expect(await feed.waitFor(after, 20_000)).toMatchObject({ kind: 'accepted' });
    expect((await model.jobs({ namespaces: '*' })).rows.map(({ job }) => job.ID)).toEqual(['after']);
    await expectWhole(after);
    await projector.stop();
    projector = startProjector();
    const restarted = await registered('restarted');
    expect(await feed.waitFor(restarted, 20_000)).toMatchObject({ kind: 'accepted' });
    await expectWhole(restarted);
  });

  it('may change, be stored or removed later; a copy of the state that starts anywhere in between has all of it', async () => {
    await refuse('jobs', `id = '${POISON}' and priority < 70`);
    await feed.waitFor(await registered(POISON), 20_000);
    await feed.waitFor(await registered(POISON, 60), 20_000);
    expect(await model.decisions.job('default', POISON)).toMatchObject({ Version: 1, Priority: 60 });
    expect(await partsAside()).toEqual(['jobs']);

    await projector.stop();
    projector = startProjector();
    const other = await registered('other');
    await feed.waitFor(other, 20_000);
    await expectWhole(other);
    expect(await partsAside()).toEqual(['jobs']);

    const mended = await registered(POISON, 80);
    await feed.waitFor(mended, 20_000);
    expect((await model.job('default', POISON)).row).toMatchObject({ Version: 2 });
    expect(await partsAside()).toEqual([]);
    await eventually('the projector knows', () => projector.stats()['setAside'] === 0);

    const back = await registered(POISON, 40);
    await feed.waitFor(back, 20_000);
    await expect(model.job('default', POISON)).rejects.toThrow(SetAsideError); // and not what it was before
    await expectWhole(back);
    const log = new TransactionLog(pool);
    const at = async (index: number) => (await log.stateAt('job', ['default'], POISON, index)).row;
    expect(await at(mended)).toMatchObject({ Version: 2, Priority: 80 });
    const gone = await purged(POISON);
    await feed.waitFor(gone, 20_000);
    expect(await partsAside()).toEqual([]);
    expect((await model.job('default', POISON)).row).toBeUndefined();
    await expectWhole(gone);
  });

  it('is stored by a retry as soon as PostgreSQL takes it; what it still refuses stays, with the reason', async () => {
    await refuse('jobs', `id = '${POISON}'`);
    await refuse('txn', `name = 'JobRegister'`);
    await refuse('allocs', `job_id = '${POISON}'`);
    await refuse('alloc_job', `job_id = '${POISON}'`);
    await feed.waitFor(await registered(POISON), 20_000);
    await refuseLarge();
    await feed.waitFor(await registered(LARGE), 20_000);
    const job = (await model.decisions.job('default', POISON))!;
    const node = fixtures.aNode({ ID: randomUUID(), SecretID: randomUUID() });
    await publish('NodeRegister', { Node: node, CreateNodePool: false });
    const [evaluation] = (await model.jobEvaluations('default', POISON)).rows;
    const EvalID = evaluation?.ID ?? '';
    const alloc = fixtures.anAlloc({ ID: randomUUID(), EvalID, JobID: POISON, Job: job, NodeID: node.ID });
    const placed = await publish(
      'ApplyPlanResults',
      fixtures.aPlanResult({ EvalID, Job: job, AllocsUpdated: [alloc] }),
    );
    expect(await feed.waitFor(placed, 20_000)).toEqual({ kind: 'accepted' });
    await expectWhole(placed);
    const before = await partsAside();
    expect(new Set(before)).toEqual(new Set(['jobs', 'txn', 'allocs', 'alloc_job']));
    await expect(model.allocation(alloc.ID)).rejects.toThrow(SetAsideError);

    const setAside = new SetAsideRows(pool);
    expect(await setAside.retry()).toEqual({ stored: 0, left: before.length });
    for (const table of ['jobs', 'txn', 'allocs', 'alloc_job']) await accept(table);
    const retried = await setAside.retry();
    expect(retried).toEqual({ stored: before.length - 1, left: 1 });
    expect(await setAside.list(100)).toMatchObject([{ part: 'jobs', object: `default/${LARGE}`, sqlstate: '54000' }]);
    expect((await model.job('default', POISON)).row).toMatchObject({ Status: 'running', ModifyIndex: placed });
    expect((await model.allocation(alloc.ID)).row?.Job).toEqual(job);
    expect(await model.txnVerdict(placed)).toMatchObject({ verdict: { kind: 'accepted' } });
    await expectWhole(placed);

    const next = await registered('next');
    await feed.waitFor(next, 20_000);
    await eventually('the projector knows', () => projector.stats()['setAside'] === 1);
    await new HistoryRetention(pool).trim(Date.now() * 1e6, new AbortController().signal);
    await expectWhole(next);
  });

  it('a frame that NATS could never take is replaced by one that says so, at its index', async () => {
    await projector.stop();
    const events = new NatsEventStream(link);
    const refusing = Object.assign(Object.create(events) as NatsEventStream, {
      refusalOf: (part: { data: Uint8Array }) =>
        Buffer.from(part.data).includes(POISON) && part.data.length > 2_000 ? 'too large' : undefined,
    });
    projector = new Projector({
      log: journal,
      events: refusing,
      store: new PostgresStore(pool),
      announcer: new NatsAnnouncer(link),
      clock,
      timers,
      logger: silentLogger,
      onDiverged: () => {},
    });
    projector.start(term);
    const indexes = [await registered('before'), await registered(POISON), await registered('after')];
    await feed.waitFor(indexes[2] ?? 0, 20_000);
    const storage = new NatsEventStorage(link.nc);
    const { first, last } = await storage.bounds();
    const parts = await storage.readParts(first, last - first + 1, 8_000_000);
    const frames = parts.map(
      ({ data }) => JSON.parse(Buffer.from(data).toString()) as { Index: number; Events: object[] },
    );
    expect(frames.map(({ Index }) => Index)).toEqual(indexes);
    expect(frames[1]?.Events).toEqual([
      expect.objectContaining({ Topic: 'Job', Key: POISON, Payload: { Unavailable: 'too large' } }),
      expect.objectContaining({ Topic: 'Evaluation', Payload: { Unavailable: 'too large' } }),
    ]);
    expect(projector.stats()).toMatchObject({ replacedFrames: 1 });
  });
});
