import { SimulatedTime, type Evaluation, type Plan } from '@waybill/model';
import type { Applied, Proposed, Role } from '@waybill/state';
import {
  type Call,
  type DequeueRequest,
  type DequeueResponse,
  type FinishRequest,
  type Rpc,
  RpcUnavailableError,
  type SubmitPlanRequest,
  RpcError,
} from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SHORT_HOUSEKEEPING_MS } from './housekeeping.js';
import { SchedulingFixture } from '../scheduling.fixture.js';
import { backoffMs } from './stop-signal.js';
import {
  CATCH_UP_MS,
  DEQUEUE_MS,
  NO_BROKER_BACKOFF_LIMIT_MS,
  OTHER_TERM_BACKOFF_MS,
  QUIET_START_MS,
  WAIT_FOR_INDEX_MS,
  Worker,
  type WorkerDeps,
} from './worker.js';

let time: SimulatedTime;
let world: SchedulingFixture;
let deliveries: (Partial<DequeueResponse> & { Eval: Evaluation })[];
let asked: string[];
let refuse: (call: string) => Error | undefined;
let waits: { index: number; timeoutMs: number; reject: (e: Error) => void; resolve: () => void }[];
let worker: Worker;
/** What was asked of a holder that does not answer. */
let unanswered: { call: string; answer: (res: unknown) => void }[];
let isSilent: (call: string) => boolean;
let listeners: Set<(applied: Applied) => void>;
let timers: string[];
/** Milliseconds of each timer and pass, in the order of `timers`. */
let durations: number[];
/** Warnings in the log. */
let warnings: string[];
let deps: WorkerDeps;
let schedulersAsked: readonly string[];
/** By each dequeue. */
let workersAsking: (string | undefined)[];
/** With the end of each evaluation. */
let typesWanted: (readonly string[])[];
let submitted: Plan[];
/** With the end of each evaluation. */
let stepsSent: (string | undefined)[];

const handedOver = (delivery: Partial<DequeueResponse> | undefined): DequeueResponse => ({
  Eval: null,
  Token: 'token',
  WaitIndex: 0,
  Traceparent: null,
  ...delivery,
});
const settled = async (): Promise<void> => {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
};

beforeEach(() => {
  time = new SimulatedTime();
  world = new SchedulingFixture();
  deliveries = [];
  asked = [];
  waits = [];
  refuse = () => undefined;
  unanswered = [];
  isSilent = () => false;
  listeners = new Set();
  timers = [];
  durations = [];
  warnings = [];
  schedulersAsked = [];
  workersAsking = [];
  typesWanted = [];
  submitted = [];
  stepsSent = [];
  const rpc: Rpc = {
    async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
      const name = call.name.replace('broker.', '');
      if (name === 'dequeue') schedulersAsked = (request as DequeueRequest).Schedulers;
      if (name === 'dequeue') workersAsking.push((request as DequeueRequest).Worker);
      const error = refuse(name);
      if (error) {
        asked.push(`${name} failed`);
        throw error;
      }
      if (isSilent(name))
        return new Promise<Res>((resolve) => unanswered.push({ call: name, answer: (res) => resolve(res as Res) }));
      if (name !== 'dequeue') asked.push(name);
      if (name === 'submitPlan') submitted.push((request as SubmitPlanRequest).Plan);
      if (name === 'finish') stepsSent.push((request as FinishRequest).Steps);
      if (name === 'finish') typesWanted.push((request as FinishRequest).NextOf);
      if (name === 'finish' && (request as FinishRequest).NextOf.length === 0) return handedOver(undefined) as Res;
      if (name === 'finish') return handedOver(deliveries.shift()) as Res;
      if (name !== 'dequeue') return { Index: 1, Result: null } as Res;
      if (deliveries.length === 0) await new Promise<void>((resolve) => time.after(500, resolve));
      return handedOver(deliveries.shift()) as Res;
    },
  };
  deps = {
    rpc,
    state: {
      tables: world.state.tables,
      get appliedIndex() {
        return world.state.appliedIndex;
      },
      waitFor(index, timeoutMs) {
        if (index <= world.state.appliedIndex) return Promise.resolve();
        return new Promise<void>((resolve, reject) => waits.push({ index, timeoutMs, resolve, reject }));
      },
      propose: (): Promise<Proposed> => Promise.reject(new Error('a worker never writes')),
      onApplied(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    clock: time,
    timers: time,
    newId: world.newId,
    logger: { ...silentLogger, warn: (message: string) => void warnings.push(message) },
    tracer: () => tracerFor('test'),
    meter: {
      observe(timer, ms) {
        timers.push(timer);
        durations.push(ms);
      },
      invoked(type, ms) {
        timers.push(`invoke ${type}`);
        durations.push(ms);
      },
    },
  };
  worker = new Worker(deps);
});
afterEach(async () => {
  const stopping = worker.stop();
  for (const wait of waits) wait.resolve();
  time.advance(10_000);
  await stopping;
});

const delivered = (over: Omit<Partial<DequeueResponse>, 'Eval'> = {}, evaluation: Partial<Evaluation> = {}): void => {
  deliveries.push({ Eval: fixtures.anEval(evaluation), ...over });
};

describe('a worker', () => {
  it('EB-225: reports the outcome, with which the delivery ends, and gets the next one with the answer', async () => {
    delivered();
    delivered();
    worker.start();
    await settled();
    expect(asked).toEqual(['finish', 'finish']);
    expect(typesWanted[0]).toEqual(schedulersAsked);
    expect(timers.filter((timer) => timer === 'worker.dequeue_eval')).toHaveLength(1);
  });

  it("SC-171, EB-56: what has come by the broker's clock has come, also where the clock here is behind", async () => {
    world.addNode();
    world.register(fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Count: 1 })] }));
    const dueNs = (time.nowMs() + 3_000) * 1e6;
    delivered({ DueNs: dueNs }, { TriggeredBy: 'job-register' });
    worker.start();
    await settled();
    expect(Object.values(submitted[0]!.NodeAllocation).flat()).toMatchObject([{ CreateTime: dueNs }]);
  });

  it('keeps the time of each step, also of one that fails, and names no job', async () => {
    refuse = (call) => (call === 'finish' ? new Error('no') : undefined);
    delivered();
    worker.start();
    await settled();
    expect(timers.slice(0, 5)).toEqual([
      'worker.dequeue_eval',
      'worker.wait_for_index',
      'invoke service',
      'worker.update_eval',
      'worker.send_ack',
    ]);
  });

  it('gives each step the time that it took, which is none where nothing was waited for', async () => {
    delivered();
    delivered({}, { JobID: 'eval-gc', Type: '_core' });
    worker.start();
    await settled();
    expect(timers.filter((timer) => timer.startsWith('invoke'))).toEqual(['invoke service', 'invoke _core']);
    expect(new Set(durations)).toEqual(new Set([0]));
  });

  it('works without anyone who measures it', async () => {
    const { meter: _, ...unmeasured } = deps;
    worker = new Worker(unmeasured);
    delivered();
    worker.start();
    await settled();
    expect(asked).toEqual(['finish']);
  });

  it('EB-56: places by its own clock what has no due time', async () => {
    world.addNode();
    world.register(fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Count: 1 })] }));
    delivered({}, { TriggeredBy: 'job-register' });
    worker.start();
    await settled();
    const CreateTime = time.nowMs() * 1e6;
    expect(Object.values(submitted[0]!.NodeAllocation).flat()).toMatchObject([{ CreateTime }]);
  });

  it('shows what it does: waiting for work, for its state, for the broker, and for work again', async () => {
    isSilent = (call) => call === 'finish';
    delivered({ WaitIndex: 1_000_000 });
    worker.start();
    await settled();
    expect(worker.workloadStatus).toBe('WaitingForRaft');
    waits[0]!.resolve();
    await settled();
    expect(worker.workloadStatus).toBe('Submitting');
    unanswered[0]!.answer(handedOver(undefined));
    await settled();
    expect(worker.workloadStatus).toBe('WaitingToDequeue');
  });

  it('CL-1065: sends a wait for the index of the delivery only if it waited', async () => {
    const { appliedIndex } = world.state;
    for (const WaitIndex of [appliedIndex, appliedIndex + 1]) delivered({ WaitIndex });
    worker.start();
    await settled();
    for (const { resolve } of waits) resolve();
    await settled();
    expect(stepsSent.map((steps) => steps?.includes('waited'))).toEqual([false, true]);
  });

  it('EB-228: it asks for every type of job, and for housekeeping', async () => {
    worker.start();
    await settled();
    expect(schedulersAsked).toEqual(['service', 'batch', 'system', 'sysbatch', '_core']);
  });

  describe('housekeeping', () => {
    const JOBS_ONLY = ['service', 'batch', 'system', 'sysbatch'];
    /** A collection that takes three requests; none is answered before a test does. */
    function aLargeCollection(): void {
      const Evals = Array.from({ length: 2_500 }, () => fixtures.anEval({ Status: 'complete', ModifyTime: 1 }));
      fixtures.apply(world.state, 'EvalUpdate', { Evals });
      delivered({}, { JobID: 'force-gc', Type: '_core' });
      isSilent = (call) => call === 'reap';
    }
    async function passing(ms: number): Promise<void> {
      time.advance(ms);
      await settled();
    }

    it('GC-10: a large collection rests, and what is to be placed does not wait for that', async () => {
      aLargeCollection();
      worker.start();
      await settled();
      await passing(SHORT_HOUSEKEEPING_MS);
      expect([unanswered.length, schedulersAsked]).toEqual([1, JOBS_ONLY]);
      delivered();
      await passing(1_000);
      expect([asked, typesWanted]).toEqual([['finish'], [JOBS_ONLY]]);
      unanswered.shift()?.answer({ Index: 1 });
      await settled();
      await passing(2_999); // it rests three times as long as its request took
      delivered();
      await passing(500);
      expect([unanswered.length, asked]).toEqual([1, ['finish', 'finish']]);
      isSilent = () => false;
      unanswered.shift()?.answer({ Index: 1 });
      for (let n = 0; n < 3; n++) await passing(15_000);
      expect(asked).toEqual(['finish', 'finish', 'reap', 'ack']);
      expect(schedulersAsked).toEqual([...JOBS_ONLY, '_core']);
    });

    it('leaves no timer behind when it is over', async () => {
      delivered({}, { JobID: 'eval-gc', Type: '_core' });
      worker.start();
      await settled();
      expect(asked).toEqual(['ack']);
      expect(time.armedCount).toBe(1); // the request for the next delivery
    });

    it('what is over soon holds up nothing either: the next of it comes at once', async () => {
      for (const JobID of ['eval-gc', 'job-gc', 'node-gc']) delivered({}, { JobID, Type: '_core' });
      worker.start();
      await settled();
      expect(asked).toEqual(['ack', 'ack', 'ack']);
      expect(new Set(workersAsking).size).toBe(1);
    });

    it('goes on under the id it was handed to: whoever asks for work has nothing in hand', async () => {
      aLargeCollection();
      worker.start();
      await settled();
      await passing(SHORT_HOUSEKEEPING_MS);
      const [first, ...later] = new Set(workersAsking);
      expect([first, later.length]).toEqual([expect.any(String), 1]);
    });

    it('EB-228: a worker for housekeeping alone asks for nothing while it is busy, one with another type does', async () => {
      const wanted: (readonly string[])[] = [];
      for (const enabledSchedulers of [['_core'], ['service', '_core']]) {
        const before = workersAsking.length;
        worker = new Worker({ ...deps, enabledSchedulers });
        aLargeCollection();
        worker.start();
        await settled();
        await passing(SHORT_HOUSEKEEPING_MS);
        wanted.push(workersAsking.length === before + 1 ? [] : schedulersAsked);
        const stopping = worker.stop();
        for (const { answer } of unanswered.splice(0)) answer({ Index: 1 });
        await passing(DEQUEUE_MS);
        await stopping;
      }
      expect(wanted).toEqual([[], ['service']]);
    });

    it('EB-208: that is handed over during a stop goes back', async () => {
      worker.start();
      await settled();
      const stopping = worker.stop();
      delivered({}, { JobID: 'eval-gc', Type: '_core' });
      await passing(DEQUEUE_MS);
      await stopping;
      expect(asked).toEqual(['nack']);
    });

    it('EB-208: a stop ends its rest, and it goes back', async () => {
      aLargeCollection();
      worker.start();
      await settled();
      await passing(1_000);
      unanswered.shift()?.answer({ Index: 1 });
      await settled();
      const stopped = worker.stop();
      await passing(500);
      await stopped;
      expect(asked).toEqual(['nack']);
    });

    it('EB-208: a stop waits for what it has asked', async () => {
      aLargeCollection();
      worker.start();
      await settled();
      let isOver = false;
      void worker.stop().then(() => (isOver = true));
      await passing(500);
      expect(isOver).toBe(false);
      unanswered.shift()?.answer({ Index: 1 });
      await settled();
      expect([isOver, asked]).toEqual([true, ['nack']]);
    });

    it('EB-231: a pause waits for it, a resume does not', async () => {
      aLargeCollection();
      worker.start();
      await settled();
      worker.pause();
      await passing(500);
      expect(worker.status).toBe('Pausing');
      worker.resume();
      delivered();
      await passing(500);
      expect([worker.status, asked]).toEqual(['Started', ['finish']]);
      worker.pause();
      isSilent = () => false;
      unanswered.shift()?.answer({ Index: 1 });
      for (let n = 0; n < 5; n++) await passing(15_000);
      expect(worker.status).toBe('Paused');
    });
  });

  it('EB-225: nacks when the outcome could not be written', async () => {
    refuse = (call) => (call === 'finish' ? new Error('no') : undefined);
    delivered();
    worker.start();
    await settled();
    expect(asked).toEqual(['finish failed', 'nack']);
  });

  it('EB-202, SC-24: lives on after an exception in a scheduler', async () => {
    delivered({}, { Type: 'nonsense' });
    delivered();
    worker.start();
    await settled();
    expect(asked).toEqual(['nack', 'finish']);
  });

  it('EB-201: lives on when the end of a delivery cannot be reported', async () => {
    refuse = (call) => (call === 'finish' || call === 'nack' ? new Error('no') : undefined);
    delivered();
    delivered();
    worker.start();
    await settled();
    expect(asked).toEqual(['finish failed', 'nack failed', 'finish failed', 'nack failed']);
  });

  it('EB-199, ST-170, DP-724: nacks what its copy of the state does not reach in time, then catches up before it asks again', async () => {
    delivered({ WaitIndex: 100 });
    delivered();
    worker.start();
    await settled();
    expect(waits).toMatchObject([{ index: 100, timeoutMs: WAIT_FOR_INDEX_MS }]);
    expect(asked).toEqual([]);
    waits[0]!.reject(new Error('too late'));
    await settled();
    expect(asked).toEqual(['nack']);
    expect(waits[1]).toMatchObject({ index: 100, timeoutMs: CATCH_UP_MS });
    waits[1]!.resolve();
    await settled();
    expect(asked).toEqual(['nack', 'finish']);
  });

  it('EB-199, EB-208: a stopping worker does not wait until its copy of the state has caught up', async () => {
    delivered({ WaitIndex: 100 });
    worker.start();
    await settled();
    const stopping = worker.stop();
    waits[0]!.reject(new Error('too late'));
    await stopping;
    expect([asked, waits.length, worker.status]).toEqual([['nack'], 1, 'Stopped']);
  });

  it("EB-197: without a wait index the evaluation's own is waited for", async () => {
    delivered({}, { ModifyIndex: 77 });
    worker.start();
    await settled();
    expect(waits[0]?.index).toBe(77);
  });

  it('EB-203, EB-204: backs off while nobody answers, and comes back', async () => {
    refuse = (call) => (call === 'dequeue' ? new RpcUnavailableError(call, 'timeout') : undefined);
    worker.start();
    for (const ms of [20, 40, 80, 160]) {
      await settled();
      time.advance(ms - 1);
      await settled();
      const before = asked.length;
      time.advance(1);
      await settled();
      expect(asked.length).toBe(before + 1);
    }
    expect([0, 1, 9, 62, 99].map((k) => backoffMs(k, 20, 10_000))).toEqual([20, 40, 10_000, 10_000, 10_000]);
    expect(backoffMs(3, 0, 10_000)).toBe(0);
  });

  it('EB-204: the back-off begins anew after a success', async () => {
    let fails = true;
    refuse = (call) => (call === 'dequeue' && fails ? new RpcUnavailableError(call, 'timeout') : undefined);
    worker.start();
    for (const ms of [20, 40, 80]) {
      await settled();
      time.advance(ms);
    }
    fails = false;
    await settled();
    time.advance(160);
    await settled();
    expect(worker.workloadStatus).toBe('WaitingToDequeue');
    fails = true;
    time.advance(DEQUEUE_MS);
    await settled();
    const before = asked.length;
    time.advance(19);
    await settled();
    expect(asked.length).toBe(before);
    time.advance(1);
    await settled();
    expect(asked.length).toBe(before + 1);
  });

  it.each([
    ['no responder', NO_BROKER_BACKOFF_LIMIT_MS],
    ['timeout', 20 * 2 ** 6],
  ] as const)('EB-203: the seventh pause after "%s" takes %i ms', async (reason, expected) => {
    refuse = (call) => (call === 'dequeue' ? new RpcUnavailableError(call, reason) : undefined);
    worker.start();
    for (let failed = 1; failed <= 6; failed++) {
      await settled();
      expect(asked).toHaveLength(failed);
      time.advance(20 * 2 ** (failed - 1));
    }
    await settled();
    expect(asked).toHaveLength(7);
    time.advance(expected - 1);
    await settled();
    expect(asked).toHaveLength(7);
    time.advance(1);
    await settled();
    expect(asked).toHaveLength(8);
  });

  it('EB-203: failed dequeues are logged only when the broker has had time to start', async () => {
    refuse = (call) => (call === 'dequeue' ? new RpcUnavailableError(call, 'no responder') : undefined);
    time.advance(1_000);
    worker = new Worker(deps);
    worker.start();
    await settled();
    time.advance(QUIET_START_MS);
    await settled();
    expect([asked.length, warnings]).toEqual([2, []]);
    time.advance(NO_BROKER_BACKOFF_LIMIT_MS);
    await settled();
    expect(warnings).toEqual(['no evaluation could be fetched']);
  });

  it('EB-208: what it is handed while it stops goes back at once', async () => {
    worker.start();
    await settled();
    const stopping = worker.stop();
    delivered();
    time.advance(500);
    await stopping;
    expect(asked).toEqual(['nack']);
  });
});

describe('a worker that is told to rest', () => {
  it('EB-231, EB-233: paused it finishes what it has and dequeues nothing, resumed it goes on', async () => {
    expect(worker.status).toBe('Starting');
    worker.start();
    await settled();
    expect([worker.status, worker.workloadStatus]).toEqual(['Started', 'WaitingToDequeue']);
    worker.pause();
    expect(worker.status).toBe('Pausing');
    time.advance(500);
    await settled();
    expect([worker.status, worker.workloadStatus]).toEqual(['Paused', 'Paused']);
    delivered();
    time.advance(60_000);
    await settled();
    expect(asked).toEqual([]);
    worker.resume();
    expect(worker.status).toBe('Resuming');
    await settled();
    expect(worker.status).toBe('Started');
    expect(asked).toEqual(['finish']);
  });

  it('EB-231: told to rest while it resumes, it rests again', async () => {
    worker.start();
    worker.pause();
    time.advance(DEQUEUE_MS);
    await settled();
    worker.resume();
    worker.pause();
    expect(worker.status).toBe('Pausing');
  });

  it('EB-231: told to rest while it works, it takes nothing with the end of what it has', async () => {
    delivered({ WaitIndex: 1_000_000 });
    delivered();
    worker.start();
    await settled();
    worker.pause();
    waits[0]!.resolve();
    await settled();
    expect([asked, typesWanted, worker.status]).toEqual([['finish'], [[]], 'Paused']);
  });

  it('EB-232: a resume before the pause took effect cancels it; pausing twice and resuming what runs change nothing', async () => {
    worker.start();
    await settled();
    worker.resume();
    expect(worker.status).toBe('Started');
    worker.pause();
    worker.pause();
    worker.resume();
    time.advance(500);
    await settled();
    expect(worker.status).toBe('Started');
  });

  it('EB-232: stop works on a paused one, at once', async () => {
    worker.start();
    worker.pause();
    await settled();
    time.advance(500);
    await settled();
    expect(worker.status).toBe('Paused');
    const stopping = worker.stop();
    const shown = new Set<string>([worker.status]);
    for (let n = 0; n < 50; n++) {
      await Promise.resolve();
      shown.add(worker.status);
    }
    await stopping;
    expect([...shown]).toEqual(['Stopping', 'Stopped']);
    expect([worker.workloadStatus, time.armedCount]).toEqual(['Stopped', 0]);
    worker.pause();
    worker.resume();
    expect(worker.status).toBe('Stopped');
    void worker.stop();
    expect(worker.status).toBe('Stopped');
  });

  it('EB-232: pausing and resuming one that has not begun changes nothing', () => {
    worker.pause();
    worker.resume();
    expect(worker.status).toBe('Starting');
  });
});

describe('a worker and its broker', () => {
  it('EB-196: it has one evaluation at a time', async () => {
    delivered({ WaitIndex: 1_000_000 });
    delivered();
    worker.start();
    await settled();
    expect(waits).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  it('EB-197, ST-170, DP-724: without a wait index it waits for the evaluation itself', async () => {
    delivered({ WaitIndex: 0 }, { ModifyIndex: 500_000 });
    worker.start();
    await settled();
    expect(waits[0]?.index).toBe(500_000);
  });

  it('EB-197: it waits for the term of the broker, too', async () => {
    delivered({ WaitIndex: 7, Lease: { Epoch: 2, Index: 600_000 } });
    worker.start();
    await settled();
    expect(waits[0]?.index).toBe(600_000);
  });

  it.each([
    ['another epoch', 1, 0],
    ['the epoch of another log', 0, 1],
  ])('EB-197: with %s in its copy of the state it schedules nothing and pauses', async (_, later, moved) => {
    const lease = fixtures.apply(world.state, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'b' });
    const Index = lease.index - moved;
    const Lease = { Epoch: 1 + later, Index };
    delivered({ Lease });
    delivered({ Lease }, { JobID: 'eval-gc', Type: '_core' });
    worker.start();
    await settled();
    expect(asked).toEqual(['nack']);
    time.advance(OTHER_TERM_BACKOFF_MS - 1);
    await settled();
    expect(asked).toEqual(['nack']);
    time.advance(1);
    await settled();
    expect(asked).toEqual(['nack', 'nack']);
    delivered({ Lease: { Epoch: 1, Index: lease.index } });
    time.advance(DEQUEUE_MS);
    await settled();
    expect(asked.at(-1)).toBe('finish');
  });

  it('EB-203: a broker of another version is asked again after 30 seconds', async () => {
    let dequeues = 0;
    refuse = (call) => {
      if (call !== 'dequeue') return undefined;
      dequeues++;
      return new RpcError('invalid', 'dequeue disallowed: calling scheduler version is 1; leader version is 2');
    };
    worker.start();
    await settled();
    time.advance(29_999);
    await settled();
    expect([dequeues, worker.workloadStatus]).toEqual([1, 'Backoff']);
    time.advance(1);
    await settled();
    expect(dequeues).toBe(2);
  });

  it('EB-206: while nobody holds the role a write is tried again, with growing waits, until it is taken', async () => {
    let refusals = 3;
    refuse = (call) =>
      call === 'finish' && refusals-- > 0 ? new RpcUnavailableError('broker.finish', 'no responder') : undefined;
    delivered();
    worker.start();
    await settled();
    for (const wait of [500, 1_000, 2_000]) {
      expect(asked.at(-1)).toBe('finish failed');
      time.advance(wait);
      await settled();
    }
    expect(asked.slice(3)).toEqual(['finish']);
  });

  it('EB-205: a plan has the token of its delivery and its snapshot, and says of job and stops only which they are', async () => {
    world.addNode();
    const group = (Count: number) => fixtures.aGroup({ Count, Update: null });
    world.register(fixtures.aJob({ TaskGroups: [group(2)] }));
    world.run();
    world.register(fixtures.aJob({ TaskGroups: [group(1)] }));
    delivered();
    const SnapshotIndex = world.state.appliedIndex;
    worker.start();
    await settled();
    expect(submitted).toMatchObject([{ EvalToken: 'token', SnapshotIndex }]);
    const { Namespace, ID, Version, CreateIndex } = world.state.tables.jobs.get('default/web')!;
    expect(submitted[0]!.Job).toEqual({ Namespace, ID, Version, CreateIndex });
    const stops = Object.values(submitted[0]!.NodeUpdate).flat();
    expect(stops.map((stop) => Object.keys(stop).toSorted())).toEqual([
      ['ClientStatus', 'DesiredDescription', 'FollowupEvalID', 'ID'],
    ]);
  });

  it('EB-207: an answer without a result is an error, and the evaluation goes back', async () => {
    world.addNode();
    world.register(fixtures.aJob());
    delivered();
    worker.start();
    await settled();
    expect(asked).toEqual(['submitPlan', 'nack']);
  });
});

describe('a worker whose broker was killed', () => {
  const taken = async (role: Role = 'broker', over = 0): Promise<void> => {
    const epoch = world.state.epochOf(role) + 1 + over;
    const applied = fixtures.apply(world.state, 'LeaseAcquired', { Role: role, Epoch: epoch, Holder: `h${epoch}` });
    for (const listener of listeners) listener(applied);
    await settled();
  };

  it('gives up the write that the dead holder took in as soon as there is a successor, and asks that for work', async () => {
    isSilent = (call) => call === 'finish';
    delivered();
    worker.start();
    await settled();
    expect(unanswered.map(({ call }) => call)).toEqual(['finish']);
    isSilent = () => false;
    delivered();
    await taken();
    expect(asked).toEqual(['nack', 'finish']);
  });

  it('what the answer to that write brings after all goes back', async () => {
    isSilent = (call) => call === 'finish';
    delivered();
    worker.start();
    await settled();
    isSilent = () => false;
    await taken();
    expect(asked).toEqual(['nack']);
    unanswered[0]!.answer(handedOver({ Eval: fixtures.anEval() }));
    await settled();
    expect(asked).toEqual(['nack', 'nack']);
  });

  it('a nack that the dead holder took in is not waited for either', async () => {
    isSilent = (call) => call === 'nack';
    delivered({}, { Type: 'nonsense' });
    worker.start();
    await settled();
    isSilent = () => false;
    delivered();
    await taken();
    expect(asked).toEqual(['finish']);
  });

  it('a write that found no holder is not tried on the successor, which does not know the token', async () => {
    refuse = (call) => (call === 'finish' ? new RpcUnavailableError(call, 'no responder') : undefined);
    delivered();
    worker.start();
    await settled();
    time.advance(500);
    await settled();
    expect(asked).toEqual(['finish failed', 'finish failed']);
    await taken();
    expect(asked).toEqual(['finish failed', 'finish failed', 'nack']);
  });

  it('a dequeue that the dead holder took in is asked of the successor at once', async () => {
    isSilent = (call) => call === 'dequeue';
    worker.start();
    await settled();
    isSilent = () => false;
    delivered();
    await taken();
    expect(asked).toEqual(['finish']);
  });

  it('what a dequeue that was given up brings after all goes back', async () => {
    isSilent = (call) => call === 'dequeue';
    worker.start();
    await settled();
    isSilent = () => false;
    await taken();
    unanswered[0]!.answer({ Eval: fixtures.anEval(), Token: 'late', WaitIndex: 0, Traceparent: null });
    await settled();
    expect(asked).toEqual(['nack']);
  });

  it('a request that ends with its holder is no failure: nothing is logged, and the back-off begins anew', async () => {
    refuse = (call) => (call === 'dequeue' ? new RpcUnavailableError(call, 'no responder') : undefined);
    worker.start();
    for (const ms of [20, 40, 80]) {
      await settled();
      time.advance(ms);
    }
    refuse = () => undefined;
    isSilent = (call) => call === 'dequeue';
    await settled();
    time.advance(160);
    await settled();
    time.advance(2 * QUIET_START_MS);
    expect(unanswered).toHaveLength(1);
    refuse = (call) => (call === 'dequeue' ? new RpcUnavailableError(call, 'no responder') : undefined);
    await taken();
    const before = asked.length;
    expect(warnings.length).toBe(1); // of the dequeue that the successor refused
    time.advance(20);
    await settled();
    expect(asked.length).toBe(before + 1);
  });

  it('the back-off ends with the first word of a successor, and begins anew', async () => {
    refuse = (call) => (call === 'dequeue' ? new RpcUnavailableError(call, 'no responder') : undefined);
    worker.start();
    for (const ms of [20, 40, 80, 160, 320]) {
      await settled();
      time.advance(ms);
    }
    await settled();
    expect([asked.length, worker.workloadStatus]).toEqual([6, 'Backoff']);
    await taken();
    expect(asked.length).toBe(7);
    time.advance(20);
    await settled();
    expect(asked.length).toBe(8);
  });

  it("another role's holder, or a lease that was refused, changes nothing", async () => {
    isSilent = (call) => call === 'finish';
    delivered();
    worker.start();
    await settled();
    await taken('nodes');
    await taken('broker', 1);
    expect([asked, worker.workloadStatus]).toEqual([[], 'Submitting']);
    await taken();
    expect(asked).toEqual(['nack']);
  });

  it('a stopped worker follows the log no longer', async () => {
    worker.start();
    await settled();
    expect(listeners.size).toBe(1);
    const stopping = worker.stop();
    time.advance(500);
    await stopping;
    expect(listeners.size).toBe(0);
  });
});
