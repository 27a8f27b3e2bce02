import { randomUUID } from 'node:crypto';
import { connect, initialise, Journal, type NatsLink } from '@waybill/journal';
import type { Allocation, Evaluation, Job, Node, Plan } from '@waybill/model';
import { Replica } from '@waybill/replica';
import { ack, dequeue, nack, NatsRpc, SCHEDULER_VERSION, submitPlan, updateEval, type Rpc } from '@waybill/rpc';
import { systemClock, systemTimers } from '@waybill/service';
import { draftTxn, fixtures, serviceActor, type Proposed, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { LogReader, readLog } from '@waybill/verify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freeze, thaw } from '../support/freeze.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

// Scenarios of section 18 of docs/reference/evaluations.md in which a process dies: real brokers, schedulers and servers,
// killed with SIGKILL while work is in flight. The test follows the log itself, and is a worker that can be led by hand.

/** Longer than looking three times for a worker that is gone, and the delay of what comes again; a third of the nack timeout. */
const MISSED_WITHIN_MS = 20_000;
const ALL_ENDED_MS = 100_000;
const TAKEOVER_MS = 15_000;

let waybill: WaybillProcesses;
let link: NatsLink;
let journal: Journal;
let replica: Replica;
let rpc: Rpc;
let node: Node;
let brokers = 0;

beforeAll(async () => {
  waybill = await WaybillProcesses.start({ WAYBILL_LEASE_TTL_MS: '1000', WAYBILL_SCHEDULER_WORKERS: '4' }, []);
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  journal = new Journal(link);
  await Promise.all([startBroker(), startBroker()]);
  await initialise(journal, { region: 'global', clock: systemClock, newId: randomUUID });
  replica = new Replica({
    log: journal,
    snapshots: null,
    timers: systemTimers,
    logger: silentLogger,
    onFatal: (error) => {
      throw error;
    },
  });
  await replica.start();
  rpc = new NatsRpc(link.nc);
  node = fixtures.aNode({
    NodeResources: {
      ...fixtures.aNode().NodeResources,
      Cpu: { CpuShares: 1e6, TotalCpuCores: 4, ReservableCpuCores: null },
      Memory: { MemoryMB: 1e6 },
      Disk: { DiskMB: 1e7 },
    },
  });
  await write('NodeRegister', { Node: node, CreateNodePool: false });
}, 120_000);
afterAll(async () => {
  await replica?.stop();
  journal?.close();
  await link?.close();
  await waybill?.stop();
});

/** After every scenario nothing of the whole log so far may break an invariant. */
afterEach(async () => {
  const reader = new LogReader();
  await readLog({ natsUrl: waybill.stack.natsUrl, natsCredentials: undefined }, (txn) => reader.checkTransaction(txn));
  expect(reader.finish().violations).toEqual([]);
});

// ---- processes

const startBroker = () => waybill.startService('broker', `broker-${++brokers}`);

async function holder(): Promise<string> {
  return eventually(
    'somebody holds the role broker',
    async () => {
      for (const name of waybill.running.keys()) {
        if (!name.startsWith('broker')) continue;
        const { role } = (await (await fetch(`${waybill.opsUrl(name)}/readyz`)).json()) as { role: string };
        if (role.startsWith('holder')) return name;
      }
      return undefined;
    },
    TAKEOVER_MS,
  );
}

/** Evaluations in the hands of workers. */
async function unacked(): Promise<number> {
  const metrics = await (await fetch(`${waybill.opsUrl(await holder())}/metrics`)).text();
  return Number(/^\S*broker_total_unacked(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1]);
}

const epoch = () => replica.epochOf('broker');

/** Kills the holder; resolves when the other one has taken over, with a new standby at its side. */
async function killHolder(): Promise<void> {
  const before = epoch();
  await waybill.kill(await holder());
  await eventually('a successor', () => epoch() > before, TAKEOVER_MS);
  await Promise.all([holder(), startBroker()]);
}

/** Work goes on, with a scheduler that is there only for the time of it. */
async function withScheduler(work: () => Promise<void>): Promise<void> {
  const name = `scheduler-${randomUUID().slice(0, 4)}`;
  await waybill.startService('scheduler', name);
  try {
    await work();
  } finally {
    await waybill.kill(name, 'SIGTERM');
  }
}

// ---- the state, and those who change it

const evalOf = (id: string): Evaluation => replica.tables.evals.get(id)!;
const jobOf = (id: string): Job => replica.tables.jobs.get(`default/${id}`)!;
const allocsOf = (job: string): Allocation[] => [...replica.tables.allocs.by('job', `default/${job}`)];
const ended = (id: string) => eventually(`${id} has ended`, () => evalOf(id).Status !== 'pending', ALL_ENDED_MS);

function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): Promise<Proposed> {
  const context = {
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('test'),
    namespace: 'default',
  };
  return replica.propose(draftTxn(type, payload, context));
}

/** Registers a job of one allocation; answers the id of its evaluation. */
async function register(id: string): Promise<string> {
  const CreateTime = Date.now() * 1e6;
  const Eval = { ...fixtures.anEval({ ID: randomUUID(), JobID: id }), CreateTime, ModifyTime: CreateTime };
  await write('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: id }), { Eval }));
  return Eval.ID;
}

const pause = (PauseEvalBroker: boolean) =>
  write('SchedulerConfig', {
    Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
    CAS: false,
    ModifyIndex: 0,
  });

// ---- a worker that is led by hand

interface Held {
  readonly e: Evaluation;
  readonly token: string;
}

const asks = async (TimeoutMs: number): Promise<Held | undefined> => {
  const request = { Schedulers: ['service'], TimeoutMs, SchedulerVersion: SCHEDULER_VERSION };
  const { Eval, Token } = await rpc.ask(dequeue, request);
  return Eval ? { e: Eval, token: Token } : undefined;
};
const held = (id: string): Promise<Held> =>
  eventually(`${id} is handed out`, async () => {
    const delivery = await asks(500);
    if (delivery && delivery.e.ID !== id) throw new Error(`${delivery.e.ID} came instead`);
    return delivery;
  });
const acks = ({ e, token }: Held) => rpc.ask(ack, { EvalID: e.ID, Token: token });
const nacks = ({ e, token }: Held) => rpc.ask(nack, { EvalID: e.ID, Token: token });
const completes = ({ e, token }: Held) =>
  rpc.ask(updateEval, {
    Evals: [{ ...e, Status: 'complete', SnapshotIndex: replica.appliedIndex, ModifyTime: e.ModifyTime + 1 }],
    Token: token,
  });
const placing = ({ e, token }: Held): Plan =>
  fixtures.aPlan({
    EvalID: e.ID,
    EvalToken: token,
    Priority: e.Priority,
    Job: jobOf(e.JobID),
    NodeAllocation: {
      [node.ID]: [
        { ...fixtures.anAlloc({ ID: randomUUID(), EvalID: e.ID, Job: jobOf(e.JobID), NodeID: node.ID }), Job: null },
      ],
    },
    SnapshotIndex: replica.appliedIndex,
  });
const failing = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'it worked',
    (error: Error) => error.message,
  );

describe('the holder of the broker is killed', () => {
  it('F1, EB-118, EB-136: between dequeue and ack: the old delivery is worth nothing, the evaluation comes again, placed once', async () => {
    const id = await register('f1');
    const old = await held(id);
    await killHolder();
    expect(await failing(rpc.ask(submitPlan, { Plan: placing(old) }))).toBe('evaluation is not outstanding');
    expect(await failing(completes(old))).toBe('evaluation is not outstanding');
    expect(await failing(acks(old))).toBe('Evaluation ID not found');
    expect(allocsOf('f1')).toEqual([]);
    await withScheduler(async () => {
      await ended(id);
    });
    expect(evalOf(id).Status).toBe('complete');
    expect(allocsOf('f1')).toHaveLength(1);
  });

  it('F2: after the commit of a plan, before its answer: the second run sees the allocations and makes no plan', async () => {
    const id = await register('f2');
    const old = await held(id);
    const plan = placing(old);
    const committed = eventually('the plan is committed', () => allocsOf('f2').length === 1);
    const asked = failing(rpc.ask(submitPlan, { Plan: plan }, { timeoutMs: 3_000 }));
    await committed;
    await killHolder();
    await asked; // answered or not: the worker has died with its leader
    expect(await failing(nacks(old))).toBe('Evaluation ID not found');
    const plansBefore = allocsOf('f2').map((a) => a.ID);
    await withScheduler(async () => {
      await ended(id);
    });
    expect(evalOf(id).Status).toBe('complete');
    expect(allocsOf('f2').map((a) => a.ID)).toEqual(plansBefore);
  });

  it('F3: after its evaluation was set complete, before the ack: nothing runs again', async () => {
    const id = await register('f3');
    const old = await held(id);
    await completes(old);
    await killHolder();
    expect(await failing(acks(old))).toBe('Evaluation ID not found');
    expect(await asks(1_500)).toBeUndefined();
    expect(evalOf(id).Status).toBe('complete');
  });

  it('F12, EB-126: while paused: the successor starts paused, and unpausing works on it', async () => {
    const id = await register('f12');
    await pause(true);
    await killHolder();
    expect(await asks(1_000)).toBeUndefined();
    await pause(false);
    await withScheduler(async () => {
      await ended(id);
    });
    expect(allocsOf('f12')).toHaveLength(1);
  });

  it('F31, EB-144: frozen with a plan in its hands: woken up after its successor took over, it changes nothing', async () => {
    const id = await register('f31');
    const old = await held(id);
    const frozen = await holder();
    const before = epoch();
    await freeze(waybill.pid(frozen));
    const asked = failing(rpc.ask(submitPlan, { Plan: placing(old) }, { timeoutMs: 6_000 }));
    await eventually('a successor', () => epoch() > before, TAKEOVER_MS);
    thaw(waybill.pid(frozen));
    expect(await asked).not.toBe('it worked');
    expect(allocsOf('f31')).toEqual([]);
    await withScheduler(async () => {
      await ended(id);
    });
    expect(allocsOf('f31')).toHaveLength(1);
  });
});

describe('a scheduler is killed', () => {
  it('F4: with an evaluation in its hands: another one has it within seconds, without waiting for the nack timeout', async () => {
    await waybill.startService('scheduler', 'doomed');
    // Frozen, so that it does nothing with what its waiting dequeue is answered with.
    await freeze(waybill.pid('doomed'));
    const id = await register('f4');
    await eventually('it is handed out', async () => (await unacked()) === 1);
    await waybill.kill('doomed');
    await withScheduler(async () => {
      await eventually('f4 has ended', () => evalOf(id).Status === 'complete', MISSED_WITHIN_MS);
    });
    expect(allocsOf('f4')).toHaveLength(1);
  }, 60_000);
});

describe('everything is killed once while evaluations are worked on', () => {
  it('EB-326, EB-333, ST-182: scheduler, broker and nats-server: every evaluation ends, every job is placed once', async () => {
    const JOBS = 300;
    await Promise.all(['a', 'b'].map((name) => waybill.startService('scheduler', `worker-${name}`)));
    const ids: string[] = [];
    const registering = (async () => {
      for (let i = 0; i < JOBS; i++)
        ids.push(await eventually(`storm-${i} is registered`, () => register(`storm-${i}`).catch(() => undefined)));
    })();
    const atLeast = (count: number) => eventually(`${count} are registered`, () => ids.length >= count, 60_000);
    await atLeast(50);
    await waybill.kill('worker-a');
    await atLeast(100);
    await killHolder();
    await atLeast(200);
    process.kill(waybill.stack.nats.pid, 'SIGKILL');
    await registering;
    await eventually(
      'every evaluation has ended',
      () => replica.tables.evals.count('status', 'pending') === 0,
      ALL_ENDED_MS,
    );
    for (let i = 0; i < JOBS; i++)
      expect(allocsOf(`storm-${i}`).filter((a) => a.DesiredStatus === 'run')).toHaveLength(1);
    expect(new Set(ids.map((id) => evalOf(id).Status))).toEqual(new Set(['complete']));
  }, 170_000);
});
