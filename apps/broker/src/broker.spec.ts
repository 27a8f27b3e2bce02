import { type Plan, SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, expect, it } from 'vitest';
import { Broker } from './broker.js';

const node = fixtures.aNode();
let state: LocalState;
let broker: Broker;
/** Calls that wait for the copy of the state to come as far as they ask. */
let behind: (() => void)[] | undefined;

const apply: typeof fixtures.apply = (machine, ...txn) => {
  const applied = fixtures.apply(machine, ...txn);
  broker.applied(applied);
  return applied;
};

beforeEach(() => {
  const time = new SimulatedTime();
  let ids = 0;
  state = new LocalState();
  behind = undefined;
  state.waitFor = () => (behind ? new Promise((resolve) => behind?.push(resolve)) : Promise.resolve());
  broker = new Broker({
    state,
    clock: time,
    timers: time,
    newId: () => `id-${++ids}`,
    random: () => 0,
    logger: silentLogger,
    tracer: () => tracerFor('test'),
    region: 'global',
  });
  state.onApplied((applied) => broker.applied(applied));
  apply(state.machine, 'Initialise', {});
  apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const ready = { Status: 'ready', NodeEvent: null, UpdatedAt: 1, IdentitySigningKeyID: '' } as const;
  apply(state.machine, 'NodeUpdateStatus', { NodeID: node.ID, ...ready });
});

/** A term of this process, in the log and here. */
async function termOf(epoch: number): Promise<void> {
  apply(state.machine, 'LeaseAcquired', { Role: 'broker', Epoch: epoch, Holder: 'test' });
  const fence = { role: 'broker', epoch } as const;
  await broker.start({ ...fence, fence, isCurrent: () => true, barrierMs: 0 });
}

/** Two of them are more than the node has. */
function aPlan(): Plan {
  const task = fixtures.aTask();
  const group = fixtures.aGroup({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
  const { job, evaluation } = fixtures.aRegisteredJob(state.machine, fixtures.aJob({ TaskGroups: [group] }));
  return fixtures.aPlan({
    EvalID: evaluation.ID,
    Job: job,
    NodeAllocation: { [node.ID]: [{ ...fixtures.anAlloc({ Job: job, NodeID: node.ID }), Job: null }] },
    SnapshotIndex: state.appliedIndex,
  });
}

it('EB-141 EB-328: a plan that is judged when its term is over leaves nothing that the next term judges by', async () => {
  await termOf(1);
  behind = [];
  const late = broker.plans.submit(aPlan()).catch((error: Error) => error);
  await Promise.resolve();
  const ended = broker.stop();
  apply(state.machine, 'LeaseAcquired', { Role: 'broker', Epoch: 2, Holder: 'somebody else' });
  for (const reached of behind.splice(0)) reached();
  behind = undefined;
  await ended;
  expect(await late).toBeInstanceOf(Error);

  const meanwhile = aPlan();
  const Job = state.machine.tables.jobs.get('default/web')!;
  const AllocsUpdated = meanwhile.NodeAllocation[node.ID]!;
  apply(state.machine, 'ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID: meanwhile.EvalID, AllocsUpdated }));
  expect(state.machine.tables.allocs.size).toBe(1);
  await termOf(3);
  const { RejectedNodes } = await broker.plans.submit(aPlan());
  expect(RejectedNodes).toEqual([node.ID]);
});
