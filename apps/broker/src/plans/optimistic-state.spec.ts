import { type Allocation, isTerminalAllocation } from '@waybill/model';
import { NodeLoads, fixtures, StateMachine } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { OptimisticState } from './optimistic-state.js';

let state: StateMachine;
let view: OptimisticState;
let stored: Allocation;

beforeEach(() => {
  state = new StateMachine();
  fixtures.apply(state, 'Initialise', {});
  const node = fixtures.aNode();
  fixtures.apply(state, 'NodeRegister', { Node: node, CreateNodePool: true });
  const { job, evaluation } = fixtures.aRegisteredJob(state);
  stored = fixtures.anAlloc({ NodeID: node.ID, Job: job });
  const { verdict } = fixtures.apply(
    state,
    'ApplyPlanResults',
    fixtures.aPlanResult({ Job: job, AllocsUpdated: [stored], EvalID: evaluation.ID }),
  );
  expect(verdict).toEqual({ kind: 'accepted' });
  view = new OptimisticState(state.tables, new NodeLoads(state.tables));
});

const updates = (alloc: Allocation) => fixtures.aPlanResult({ AllocsUpdated: [alloc] });
const stops = ({ ID }: Allocation) =>
  fixtures.aPlanResult({
    AllocsStopped: [{ ID, DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' }],
  });
const live = () => [...view.allocsOn(stored.NodeID)].filter((alloc) => !isTerminalAllocation(alloc)).length;

describe('an allocation that several plans in flight touch', () => {
  it('EB-242, EB-262: counts once, as the last of them leaves it', () => {
    view.begin(updates(stored));
    view.begin(updates(stored));
    expect(view.loadOf(stored.NodeID)).toEqual(new NodeLoads(state.tables).of(stored.NodeID));
    expect(view.loadOf(stored.NodeID).allocs).toBe(live());

    view.begin(stops(stored));
    expect(view.loadOf(stored.NodeID)).toMatchObject({ allocs: 0, memoryMB: 0 });
    expect(live()).toBe(0);
  });
});
