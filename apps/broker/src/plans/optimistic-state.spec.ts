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

  it('EB-242: is yielded once by its node, beside those that no plan touches', () => {
    const other = fixtures.anAlloc({ NodeID: stored.NodeID });
    view.begin(updates(stored));
    view.begin(updates(other));
    expect([...view.allocsOn(stored.NodeID)].map(({ ID }) => ID)).toEqual([stored.ID, other.ID]);
    expect([...view.allocsOn('elsewhere')]).toEqual([]);
    expect(view.loadOf('elsewhere').allocs).toBe(0);
  });

  it('EB-242: is what the last plan that touches it makes of it, and as stored if none does', () => {
    const untouched = fixtures.anAlloc({ NodeID: stored.NodeID });
    view.begin(updates(untouched));
    expect(view.alloc(stored.ID)).toBe(state.tables.allocs.get(stored.ID));
    const stopped = view.begin(stops(stored));
    expect(view.alloc(stored.ID)).toMatchObject({ DesiredStatus: 'stop', ClientStatus: 'pending' });
    view.end(stopped);
    expect(view.alloc(stored.ID)?.DesiredStatus).toBe('run');
  });

  it('EB-276: keeps its client status, unless a plan says that it is lost or unknown', () => {
    const after = (ClientStatus: Allocation['ClientStatus']) => {
      const plan = view.begin(updates({ ...stored, ClientStatus }));
      const { ClientStatus: status } = view.alloc(stored.ID)!;
      view.end(plan);
      return status;
    };
    expect((['running', 'lost', 'unknown'] as const).map(after)).toEqual(['pending', 'lost', 'unknown']);
  });

  it('a stop of one that is gone stops nothing', () => {
    const plan = view.begin(stops(fixtures.anAlloc()));
    expect([plan.allocs.size, plan.freedNodes.size]).toEqual([0, 0]);
  });
});

describe('EB-263: a plan waits for the plan in flight that it depends on', () => {
  const nothing = { nodes: [], allocs: [], deployments: [], job: '' };
  const depends = (over: Partial<Parameters<OptimisticState['dependsOnInFlight']>[0]>) =>
    view.dependsOnInFlight({ ...nothing, ...over });

  it('of its job, on a node that it frees, of its allocation, or of its deployment', () => {
    const { job } = fixtures.aRegisteredJob(state, fixtures.aJob({ ID: 'other' }));
    const placed = fixtures.anAlloc({ NodeID: 'placed' });
    const Deployment = fixtures.aDeployment();
    view.begin(fixtures.aPlanResult({ Job: job, AllocsUpdated: [stored, placed], Deployment }));
    expect(depends({ job: 'default/other' })).toBe(true);
    expect(depends({ nodes: [stored.NodeID] })).toBe(true);
    expect(depends({ allocs: [placed.ID] })).toBe(true);
    expect(depends({ deployments: [Deployment.ID] })).toBe(true);
    const others = { nodes: ['placed'], allocs: ['other'], deployments: ['other'], job: 'default/web' };
    expect(depends(others)).toBe(false);
  });

  it('and for none else: plans without a job or a deployment have none in common', () => {
    view.begin(updates(fixtures.anAlloc()));
    expect(depends({ deployments: ['-'] })).toBe(false);
    expect(depends({})).toBe(false);
  });

  it('EB-288: a node that one of them marks is ineligible until its commit, any other is as stored', () => {
    const plan = view.begin(fixtures.aPlanResult({ IneligibleNodes: [stored.NodeID] }));
    expect(view.node(stored.NodeID)?.SchedulingEligibility).toBe('ineligible');
    expect(view.node('unknown')).toBeUndefined();
    view.end(plan);
    view.begin(fixtures.aPlanResult({ IneligibleNodes: ['other'] }));
    expect(view.node(stored.NodeID)?.SchedulingEligibility).toBe('eligible');
  });
});
