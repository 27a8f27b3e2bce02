import { termOf } from '@waybill/roles';
import { defaultSchedulerConfiguration, type Plan, type SchedulerConfiguration, SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor, type TxnDraft, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, expect, it } from 'vitest';
import { Broker } from './broker.js';

const node = fixtures.aNode();
let state: LocalState;
let broker: Broker;
/** As whoever runs the broker for its role: it hears of the log only while it holds that. */
let holds: boolean;
/** What waits for the copy of the state to come as far as it asks, and for the log; undefined: nothing has to. */
let reads: (() => void)[] | undefined;
let writes: (() => void)[] | undefined;
let ids: number;
let create: (defaultConfiguration?: SchedulerConfiguration) => Broker;

const passes = (waiting: (() => void)[] | undefined): Promise<void> =>
  waiting ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve();

beforeEach(() => {
  const time = new SimulatedTime();
  ids = 0;
  state = new LocalState();
  reads = undefined;
  writes = undefined;
  holds = false;
  state.waitFor = () => passes(reads);
  const propose = async (draft: TxnDraft) => {
    await passes(writes);
    return state.propose(draft);
  };
  create = (defaultConfiguration) =>
    new Broker({
      defaultConfiguration,
      state: Object.assign(Object.create(state) as LocalState, { propose }),
      clock: time,
      timers: time,
      newId: () => `id-${++ids}`,
      random: () => 0,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
    });
  broker = create();
  state.onApplied((applied) => holds && broker.applied(applied));
  write('Initialise', {});
  write('NodeRegister', { Node: node, CreateNodePool: false });
  const ready = { Status: 'ready', NodeEvent: null, UpdatedAt: 1, IdentitySigningKeyID: '' } as const;
  write('NodeUpdateStatus', { NodeID: node.ID, ...ready });
});

/** Applied before it returns. */
function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
  const context = { timeNs: fixtures.timeNs, requestId: `test-${++ids}`, actor: serviceActor('test') };
  void state.propose(draftTxn(type, payload, context));
}

const roleTaken = (Epoch: number): void => write('LeaseAcquired', { Role: 'broker', Epoch, Holder: 'test' });

async function hold(epoch: number): Promise<void> {
  roleTaken(epoch);
  holds = true;
  await broker.start(termOf('broker', epoch));
}

function letGo(): Promise<void> {
  holds = false;
  return broker.stop();
}

function release(): void {
  for (const go of [...(reads ?? []), ...(writes ?? [])]) go();
  reads = undefined;
  writes = undefined;
}

/** Two of them are more than the node has. */
function aPlan(JobID: string): Plan {
  const task = fixtures.aTask();
  const group = fixtures.aGroup({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
  const Eval = fixtures.anEval({ JobID });
  write('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID: JobID, TaskGroups: [group] }), { Eval }));
  const job = state.tables.jobs.get(`default/${JobID}`)!;
  return fixtures.aPlan({
    EvalID: Eval.ID,
    Job: job,
    NodeAllocation: { [node.ID]: [{ ...fixtures.anAlloc({ Job: job, JobID, NodeID: node.ID }), Job: null }] },
    SnapshotIndex: state.appliedIndex,
  });
}

const allocs = (): number => state.tables.allocs.size;
const outcome = (answer: Promise<object>): Promise<unknown> => answer.catch((error: Error) => error);

it('EB-328: a plan that is judged when its term is over leaves nothing that the next term judges by', async () => {
  await hold(1);
  reads = [];
  const late = outcome(broker.plans.submit(aPlan('late')));
  await Promise.resolve();
  const ended = letGo();
  roleTaken(2);
  release();
  await ended;
  expect([await late, allocs()]).toMatchObject([{ name: 'NotHolderError' }, 0]);

  const { EvalID, NodeAllocation } = aPlan('meanwhile');
  const Job = state.tables.jobs.get('default/meanwhile')!;
  const AllocsUpdated = NodeAllocation[node.ID]!;
  write('ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID, AllocsUpdated }));
  expect(allocs()).toBe(1);
  await hold(3);
  expect(await broker.plans.submit(aPlan('next'))).toMatchObject({ RejectedNodes: [node.ID] });
});

it('EB-328: the plan before it is counted also when the term ends here while the log still takes both', async () => {
  await hold(1);
  writes = [];
  const answers = [aPlan('first'), aPlan('second')].map((plan) => outcome(broker.plans.submit(plan)));
  await expect.poll(() => writes).toHaveLength(1);
  const ended = letGo();
  release();
  await ended;
  expect([await answers[0], allocs()]).toMatchObject([{ RefreshIndex: 0 }, 1]);
  expect(await answers[1]).toMatchObject({ RejectedNodes: [node.ID] });
});

it('EB-127, OP-10: the first holder obeys and stores the configured default, a later one what is stored', async () => {
  const paused = { ...defaultSchedulerConfiguration(), SchedulerAlgorithm: 'spread', PauseEvalBroker: true } as const;
  broker = create(paused);
  writes = [];
  roleTaken(1);
  const started = hold(2);
  expect(broker.evals.isEnabled).toBe(false);
  release();
  await started;
  expect(broker.evals.isEnabled).toBe(false);
  expect([...state.tables.scheduler_config.all()]).toMatchObject([
    { SchedulerAlgorithm: 'spread', PauseEvalBroker: true },
  ]);
  await letGo();

  broker = create(defaultSchedulerConfiguration());
  await hold(3);
  expect(broker.evals.isEnabled).toBe(false);
});
