import { CLOCK_LOOK_MS, SimulatedTime, type Job, type PeriodicConfig, Refusal } from '@waybill/model';
import { fixtures, StateMachine, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { LAUNCH_RETRY_MS, PeriodicDispatcher } from './periodic-dispatcher.js';

const MINUTE_MS = 60_000;

let time: SimulatedTime;
let state: StateMachine;
let dispatcher: PeriodicDispatcher;
let fails: Error | undefined;
let startMs: number;
/** By how much the clock was set. */
let setMs: number;
/** Happens while a launch is being written. */
let meanwhile: () => void;

/** Every minute of the clock; "never", and what is no schedule. */
const everyMinute = ({ Spec }: PeriodicConfig, afterMs: number): number | undefined => {
  const full = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
  if (Spec === 'never') return undefined;
  if (Spec === 'once') return afterMs < startMs + MINUTE_MS ? startMs + MINUTE_MS : undefined;
  if (Spec === 'every half') return full + MINUTE_MS / 2;
  if (Spec !== 'every minute') throw new Error(`no schedule: ${Spec}`);
  return full;
};

const apply = <T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = 'default') => {
  const applied = fixtures.apply(state, type, payload, { timeNs: time.nowMs() * 1e6, namespace });
  for (const change of applied.changes) dispatcher.changed(change);
  return applied;
};

const dispatcherOf = (): PeriodicDispatcher => {
  let ids = 0;
  return new PeriodicDispatcher({
    tables: state.tables,
    writer: {
      write: async (type, payload, namespace) => {
        if (fails) throw fails;
        const { verdict, index } = apply(type, payload, namespace);
        meanwhile();
        if (verdict.kind === 'refused') throw new Refusal('conflict', verdict.error);
        return index;
      },
    },
    clock: { nowMs: () => time.nowMs() + setMs },
    timers: time,
    newId: () => `eval-${++ids}`,
    logger: silentLogger,
    nextLaunchMs: everyMinute,
  });
};

beforeEach(() => {
  time = new SimulatedTime();
  startMs = time.nowMs();
  setMs = 0;
  meanwhile = () => {};
  state = new StateMachine();
  fails = undefined;
  dispatcher = dispatcherOf();
  apply('Initialise', {});
  dispatcher.start();
});

const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
};
const pass = async (ms: number): Promise<void> => {
  time.advance(ms);
  await settled();
};
const register = (periodic: Partial<PeriodicConfig> = {}, over: Partial<Job> = {}) => {
  const Periodic: PeriodicConfig = {
    Enabled: true,
    Spec: 'every minute',
    Specs: null,
    SpecType: 'cron',
    ProhibitOverlap: false,
    TimeZone: 'UTC',
    ...periodic,
  };
  return apply(
    'JobRegister',
    fixtures.aRegistration(fixtures.aJob({ ID: 'backup', Type: 'batch', Periodic, ...over })),
  );
};
const deregister = (JobID: string, Purge = false) =>
  apply('JobDeregister', { JobID, Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 });
const children = (): Job[] => [...state.tables.jobs.by('parent', 'default/backup')];
/** Seconds after the begin of the test at which it was launched. */
const launches = (): number[] =>
  children().map(({ ID }) => Number(ID.slice('backup/periodic-'.length)) - startMs / 1000);
const evalsOf = (job: Job) => [...state.tables.evals.by('job', `default/${job.ID}`)];
const endLast = () =>
  apply('EvalUpdate', { Evals: evalsOf(children().at(-1)!).map((e) => ({ ...e, Status: 'complete' as const })) });

describe('launching', () => {
  it('EB-12 (section 4, periodic-job): child and evaluation in one transaction, named after its time', async () => {
    register({}, { Priority: 70, Meta: { of: 'the parent' } });
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60]);
    const child = children()[0]!;
    expect(child).toMatchObject({
      Name: child.ID,
      ParentID: 'backup',
      Periodic: null,
      Type: 'batch',
      Status: 'pending',
      Version: 0,
      Meta: { of: 'the parent' },
      SubmitTime: time.nowMs() * 1e6,
    });
    expect(evalsOf(child)).toMatchObject([
      {
        TriggeredBy: 'periodic-job',
        Priority: 70,
        Type: 'batch',
        Status: 'pending',
        CreateIndex: child.CreateIndex,
        JobModifyIndex: child.CreateIndex,
      },
    ]);
    expect(state.tables.periodic_launch.get('default/backup')).toMatchObject({ Launch: '2026-01-01T00:01:00.000Z' });
  });

  it('goes on with the right clock after some seconds in a wrong hour, and launches no time twice', async () => {
    register();
    setMs = 60 * MINUTE_MS;
    await pass(8_000);
    expect(launches()).toEqual([60]);
    setMs = 0;
    await pass(CLOCK_LOOK_MS);
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60]);
    await pass(MINUTE_MS);
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60, 120, 180]);
    expect(state.tables.periodic_launch.get('default/backup')).toMatchObject({ Launch: '2026-01-01T00:03:00.000Z' });
  });

  it('tries a launch again by the right clock that could not be written by the wrong one', async () => {
    register();
    setMs = 60 * MINUTE_MS;
    fails = new Error('the log is away');
    await pass(2_000);
    setMs = 0;
    fails = undefined;
    await pass(CLOCK_LOOK_MS);
    await pass(LAUNCH_RETRY_MS);
    expect(launches()).toEqual([60]);
  });

  it('by the time of day, also when the clock was set forward', async () => {
    register();
    setMs = 50_000;
    await pass(CLOCK_LOOK_MS);
    await pass(9_000);
    expect(launches()).toEqual([60]);
  });

  it('again at each time', async () => {
    register();
    for (let i = 0; i < 3; i++) await pass(MINUTE_MS);
    expect(launches()).toEqual([60, 120, 180]);
  });

  it.each([
    ['switched off', { Enabled: false }, {}],
    ['stopped', {}, { Stop: true }],
    [
      'a template for dispatches',
      {},
      { ParameterizedJob: { Payload: 'optional', MetaRequired: [], MetaOptional: [] } },
    ],
    ['never due', { Spec: 'never' }, {}],
    ['without a schedule that can be read', { Spec: 'gibberish' }, {}],
  ] as const)('not one that is %s', async (_what, periodic, over) => {
    register(periodic, over as Partial<Job>);
    await pass(2 * MINUTE_MS);
    expect(children()).toEqual([]);
    expect(dispatcher.size).toBe(0);
  });

  it('follows the log: stopped, run again, with another schedule, purged', async () => {
    register();
    deregister('backup');
    await pass(MINUTE_MS);
    expect(launches()).toEqual([]);
    register();
    await pass(MINUTE_MS);
    expect(launches()).toEqual([120]);
    register({ Spec: 'never' });
    await pass(MINUTE_MS);
    expect(launches()).toEqual([120]);
    register();
    deregister('backup', true);
    await pass(MINUTE_MS);
    expect(dispatcher.size).toBe(0);
    expect(launches()).toEqual([120]);
  });

  it('an update starts from now, and is launched once', async () => {
    register();
    await pass(MINUTE_MS / 2);
    register({}, { Priority: 60 });
    expect(dispatcher.size).toBe(1);
    await pass(MINUTE_MS / 2);
    expect(launches()).toEqual([60]);
  });

  it('jobs that are due at one time are launched in one order', async () => {
    for (const ID of ['b', 'a', 'c']) register({}, { ID });
    await pass(MINUTE_MS);
    const launched = [...state.tables.jobs.all()].filter(({ ParentID }) => ParentID !== '');
    const order = launched.toSorted((a, b) => a.CreateIndex - b.CreateIndex).map(({ ParentID }) => ParentID);
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it('the earlier of two jobs is launched first, whichever came first', async () => {
    await pass(MINUTE_MS / 2);
    register({ Spec: 'every half' }, { ID: 'late' });
    register({}, { ID: 'soon' });
    await pass(MINUTE_MS / 2);
    expect([...state.tables.jobs.all()].map(({ ParentID }) => ParentID).filter(Boolean)).toEqual(['soon']);
    expect(dispatcher.size).toBe(2);
  });

  it('a change of the job that leaves its specification leaves its time', async () => {
    const nearly = MINUTE_MS - 1;
    register();
    await pass(nearly);
    setMs = 1;
    const row = state.tables.jobs.get('default/backup')!;
    dispatcher.changed({
      table: 'jobs',
      key: 'default/backup',
      before: row,
      after: { ...row, ModifyIndex: 99 },
    } as never);
    await pass(1);
    expect(launches()).toEqual([60]);
  });

  it('a job that is never due again is launched and forgotten, unless its launch has to be tried again', async () => {
    register({ Spec: 'once' });
    fails = new Error('no log');
    await pass(MINUTE_MS);
    expect([launches(), dispatcher.size]).toEqual([[], 1]);
    fails = undefined;
    await pass(LAUNCH_RETRY_MS);
    expect([launches(), dispatcher.size, time.armedCount]).toEqual([[60], 0, 0]);
  });

  it('a job that ends, or whose dispatcher stops, while a launch of it is written is not launched again', async () => {
    register();
    meanwhile = () => deregister('backup');
    await pass(MINUTE_MS);
    meanwhile = () => {};
    await pass(2 * MINUTE_MS);
    expect(dispatcher.size).toBe(0);
    register();
    meanwhile = () => dispatcher.stop();
    await pass(MINUTE_MS);
    meanwhile = () => {};
    expect(time.armedCount).toBe(0);
  });

  it('ProhibitOverlap: children that wait count as well as those that run', async () => {
    register({ ProhibitOverlap: true });
    const summary = state.tables.job_summary.get('default/backup')!;
    const after = async (Pending: number, Running: number) => {
      const before = launches().length;
      state.tables.job_summary.replace('default/backup', { ...summary, Children: { Pending, Running, Dead: 3 } });
      await pass(MINUTE_MS);
      return launches().length - before;
    };
    expect([await after(1, 1), await after(0, 1), await after(1, 0), await after(0, 0)]).toEqual([0, 0, 0, 1]);
  });

  it('ProhibitOverlap: a time is passed over while a child has not ended', async () => {
    register({ ProhibitOverlap: true });
    await pass(MINUTE_MS);
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60]);
    endLast();
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60, 180]);
  });

  it('a launch that the log does not take is tried again, and not once the next one is due', async () => {
    register();
    fails = new Error('no log');
    await pass(MINUTE_MS);
    fails = undefined;
    await pass(LAUNCH_RETRY_MS);
    expect(launches()).toEqual([60]);
    fails = new Error('no log');
    while (time.nowMs() < startMs + 3 * MINUTE_MS) await pass(LAUNCH_RETRY_MS);
    fails = undefined;
    await pass(LAUNCH_RETRY_MS);
    expect(launches()).toEqual([60, 180]);
  });

  it('what the state refuses is not tried again', async () => {
    register();
    apply('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: `backup/periodic-${startMs / 1000 + 60}` })));
    await pass(MINUTE_MS);
    expect(children()).toEqual([]);
    await pass(LAUNCH_RETRY_MS);
    expect(children()).toEqual([]);
    await pass(MINUTE_MS);
    expect(launches()).toEqual([120]);
  });
});

describe('taking over', () => {
  const takeOver = async (afterMs: number): Promise<void> => {
    dispatcher.stop();
    time.advance(afterMs);
    dispatcher = dispatcherOf();
    dispatcher.start();
    await pass(0);
  };

  it('EB-141: without the role nothing is launched and no timer runs', async () => {
    register();
    dispatcher.stop();
    dispatcher.stop();
    register({}, { ID: 'late' });
    expect([dispatcher.size, time.armedCount]).toEqual([0, 0]);
    await pass(2 * MINUTE_MS);
    expect(children()).toEqual([]);
  });

  it('what was missed is made up for by one launch, however many times went by', async () => {
    register();
    await pass(MINUTE_MS);
    await takeOver(10 * MINUTE_MS + 5_000);
    expect(launches()).toEqual([60, 665]);
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60, 665, 720]);
  });

  it('a time that is due at the very moment of the takeover is launched', async () => {
    register();
    await takeOver(MINUTE_MS);
    expect(launches()).toEqual([60]);
  });

  it('what was launched is not launched again, by however many takeovers', async () => {
    register();
    await pass(MINUTE_MS);
    for (let i = 0; i < 3; i++) await takeOver(1_000);
    expect(launches()).toEqual([60]);
    await pass(MINUTE_MS);
    expect(launches()).toEqual([60, 120]);
  });

  it('a job that was never launched is made up for from its registration on', async () => {
    register();
    await takeOver(2 * MINUTE_MS);
    expect(launches()).toEqual([120]);
  });

  it.each([
    ['another schedule', { Spec: 'never' }, {}],
    ['no schedule, switched off', { Enabled: false }, {}],
    ['been stopped', {}, { Stop: true }],
  ])('nothing was missed while the job had %s', async (_, periodic, over) => {
    const at = (version: number) => ({ Version: version, SubmitTime: time.nowMs() * 1e6 });
    register({}, at(0));
    register(periodic, { ...over, ...at(1) });
    time.advance(10 * MINUTE_MS + 5_000);
    register({}, at(2));
    register({}, { ...at(3), Priority: 70 });
    await takeOver(1_000);
    expect(launches()).toEqual([]);
    await takeOver(MINUTE_MS);
    expect(launches()).toEqual([666]);
  });

  it('ProhibitOverlap holds for what was missed too', async () => {
    register({ ProhibitOverlap: true });
    await pass(MINUTE_MS);
    await takeOver(10 * MINUTE_MS);
    expect(launches()).toEqual([60]);
  });
});

describe('by force', () => {
  it('now, and while another one runs', async () => {
    register({ ProhibitOverlap: true });
    await pass(MINUTE_MS);
    time.advance(7_000);
    const { evalId, index } = await dispatcher.force('default', 'backup');
    expect(launches()).toEqual([60, 67]);
    expect(state.tables.evals.get(evalId)).toMatchObject({ TriggeredBy: 'periodic-job', CreateIndex: index });
  });

  it('twice in a second is two launches', async () => {
    register();
    await dispatcher.force('default', 'backup');
    await dispatcher.force('default', 'backup');
    expect(launches()).toEqual([0, 1]);
  });

  it('refused for a job that is not there, not periodic, or not active', async () => {
    register({}, { ID: 'once', Periodic: null });
    register({}, { ID: 'stopped', Stop: true });
    await expect(dispatcher.force('default', 'nothing')).rejects.toThrow('job not found');
    await expect(dispatcher.force('default', 'once')).rejects.toThrow("can't force launch non-periodic job");
    await expect(dispatcher.force('default', 'stopped')).rejects.toThrow('stopped or disabled');
  });
});
