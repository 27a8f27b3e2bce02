import { type Allocation, type Node, type Plan, Refusal } from '@waybill/model';
import { NodeLoads, fixtures, StateMachine } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { OptimisticState } from './optimistic-state.js';
import { verifyPlan } from './plan-verification.js';

let state: StateMachine;
let node: Node;
const job = fixtures.aJob();

beforeEach(() => {
  state = new StateMachine();
  fixtures.apply(state, 'Initialise', {});
  node = addNode();
});

function addNode(over: Partial<Node> = {}): Node {
  const added = fixtures.aNode(over);
  fixtures.apply(state, 'NodeRegister', { Node: added, CreateNodePool: false });
  return added;
}

function plan(over: Partial<Plan> = {}): Plan {
  return fixtures.aPlan({
    EvalID: fixtures.freshId(),
    EvalToken: 'token',
    Job: job,
    ...over,
  });
}

/** An allocation that takes this much CPU of a node with 4,000 MHz. */
function alloc(on: Node, mhz: number, over: Partial<Allocation> = {}): Allocation {
  const a = fixtures.anAlloc({ Job: job, NodeID: on.ID, ...over });
  const [task] = Object.values(a.AllocatedResources.Tasks);
  task!.Cpu = { CpuShares: mhz, ReservedCores: null };
  return a;
}

/** Puts an allocation into the state, by a plan of its own. */
function stored(a: Allocation): Allocation {
  const evaluation = fixtures.anEval();
  fixtures.apply(state, 'JobRegister', fixtures.aRegistration(job, { Eval: evaluation }));
  fixtures.apply(
    state,
    'ApplyPlanResults',
    fixtures.aPlanResult({ Job: job, AllocsUpdated: [a], EvalID: evaluation.ID }),
  );
  return a;
}

const verify = (p: Plan) => verifyPlan(p, job, new OptimisticState(state.tables, new NodeLoads(state.tables)));
const placing = (on: Node, ...allocs: Allocation[]): Pick<Plan, 'NodeAllocation'> => ({
  NodeAllocation: { [on.ID]: allocs },
});
const stopping = (a: Allocation): Pick<Plan, 'NodeUpdate'> => ({
  NodeUpdate: { [a.NodeID]: [{ ID: a.ID, DesiredDescription: 'x', ClientStatus: '', FollowupEvalID: '' }] },
});
const reasons = (p: Plan): string[] => verify(p).rejected.map((r) => r.reason);

describe('one node of a plan', () => {
  it('EB-247 row 1: only stops are accepted, whatever the node is', () => {
    const a = stored(alloc(node, 100));
    fixtures.apply(state, 'NodeDeregister', { NodeID: node.ID });
    expect(reasons(plan(stopping(a)))).toEqual([]);
  });

  it('EB-247 row 2: a missing node', () => {
    const gone = fixtures.aNode();
    expect(reasons(plan(placing(gone, alloc(gone, 1))))).toEqual(['node does not exist']);
  });

  it('EB-247 rows 4, 5, 7: nodes that are down, initializing, ineligible', () => {
    const down = addNode({ Status: 'down' });
    const starting = addNode({ Status: 'initializing' });
    const closed = addNode({ SchedulingEligibility: 'ineligible' });
    const p = plan({
      NodeAllocation: {
        [down.ID]: [alloc(down, 1)],
        [starting.ID]: [alloc(starting, 1)],
        [closed.ID]: [alloc(closed, 1)],
      },
    });
    expect(reasons(p)).toEqual([
      'node is down and contains invalid updates',
      'node is not ready for placements',
      'node is not eligible',
    ]);
  });

  it('EB-247 row 4: on a node that is down, lost ones are accepted', () => {
    const down = addNode({ Status: 'down' });
    expect(reasons(plan(placing(down, alloc(down, 1, { ClientStatus: 'lost' }))))).toEqual([]);
  });

  it('EB-247 row 6: updates of what runs there are accepted without a look at capacity, also if ineligible', () => {
    const a = stored(alloc(node, 100));
    fixtures.apply(state, 'NodeUpdateEligibility', {
      NodeID: node.ID,
      Eligibility: 'ineligible',
      NodeEvent: null,
      UpdatedAt: 0,
    });
    expect(reasons(plan(placing(node, alloc(node, 99_999, { ID: a.ID }))))).toEqual([]);
  });

  it('SC-313: a note on an ended allocation of an ineligible node is accepted, a new allocation there is not', () => {
    const a = stored(alloc(node, 100));
    const failed = { ID: a.ID, ClientStatus: 'failed' as const };
    const report = { ...fixtures.aClientUpdate(a), ClientStatus: 'failed' as const };
    fixtures.apply(state, 'AllocClientUpdate', { Allocs: [report], Evals: [] });
    fixtures.apply(state, 'NodeUpdateEligibility', {
      NodeID: node.ID,
      Eligibility: 'ineligible',
      NodeEvent: null,
      UpdatedAt: 0,
    });
    expect(reasons(plan(placing(node, alloc(node, 100, failed))))).toEqual([]);
    expect(reasons(plan(placing(node, alloc(node, 100))))).toEqual(['node is not eligible']);
  });

  it('EB-247 row 8, EB-249: what does not fit names the dimension', () => {
    stored(alloc(node, 3_000));
    expect(reasons(plan(placing(node, alloc(node, 1_001))))).toEqual(['cpu']);
    expect(reasons(plan(placing(node, alloc(node, 1_000))))).toEqual([]);
  });

  it('EB-248: what was told to stop takes up no capacity here, and neither does what this plan stops', () => {
    const a = stored(alloc(node, 3_000));
    const p = plan({ ...placing(node, alloc(node, 3_000)), ...stopping(a) });
    expect(reasons(p)).toEqual([]);
    const evaluation = fixtures.anEval();
    fixtures.apply(state, 'EvalUpdate', { Evals: [evaluation] });
    fixtures.apply(
      state,
      'ApplyPlanResults',
      fixtures.aPlanResult({ EvalID: evaluation.ID, AllocsStopped: Object.values(stopping(a).NodeUpdate).flat() }),
    );
    expect(reasons(plan(placing(node, alloc(node, 4_000))))).toEqual([]);
  });

  it('EB-249: two allocations cannot have one port of one address', () => {
    const withPort = (): Allocation => {
      const a = alloc(node, 10);
      a.AllocatedResources.Shared.Ports = [
        { Label: 'http', Value: 8080, To: 0, HostIP: '192.168.0.100', IgnoreCollision: false },
      ];
      return a;
    };
    expect(reasons(plan(placing(node, withPort(), withPort())))).toEqual(['reserved alloc port collision: http=8080']);
  });

  it('EB-249, SC-106: no two allocations of a plan or of the state have one device', () => {
    const gpu = (...DeviceIDs: string[]) => {
      const a = alloc(node, 10);
      const [task] = Object.values(a.AllocatedResources.Tasks);
      task!.Devices = [{ Vendor: 'nvidia', Type: 'gpu', Name: 'V100', DeviceIDs }];
      return a;
    };
    const there = stored(gpu('a'));
    expect(reasons(plan(placing(node, gpu('b'), gpu('c', 'b'))))).toEqual(['device oversubscribed']);
    expect(reasons(plan(placing(node, gpu('a'))))).toEqual(['device oversubscribed']);
    expect(reasons(plan(placing(node, gpu('b'), gpu('c'))))).toEqual([]);
    expect(reasons(plan({ ...placing(node, gpu('a')), ...stopping(there) }))).toEqual([]);
  });

  it('EB-249, SC-102: a single allocation cannot have a core that the node does not offer', () => {
    const onCore = (core: number): Allocation => {
      const a = alloc(node, 10);
      for (const task of Object.values(a.AllocatedResources.Tasks)) task.Cpu.ReservedCores = [core];
      return a;
    };
    expect(reasons(plan(placing(node, onCore(99))))).toEqual(['cores']);
  });

  it('EB-250: more allocations than the node may have rejects that node', () => {
    const small = addNode({ NodeMaxAllocs: 1 });
    expect(reasons(plan(placing(small, alloc(small, 1), alloc(small, 1))))).toEqual(['max allocation exceeded']);
  });
});

describe('a plan', () => {
  it('EB-246, EB-251, EB-253: a rejected node contributes nothing, the rest is kept, and the retry knows how far to read', () => {
    const a = stored(alloc(node, 3_000));
    const roomy = addNode();
    const p = plan({
      NodeUpdate: { [node.ID]: [], ...stopping(alloc(node, 1, { ID: a.ID })).NodeUpdate },
      NodeAllocation: { [node.ID]: [alloc(node, 99_999)], [roomy.ID]: [alloc(roomy, 100)] },
    });
    const { result } = verify(p);
    expect(Object.keys(result.NodeAllocation)).toEqual([roomy.ID]);
    expect(result.NodeUpdate).toEqual({});
    expect(result.RejectedNodes).toEqual([node.ID]);
    expect(result.RefreshIndex).toBe(Math.max(state.tables.nodes.tableIndex, state.tables.allocs.tableIndex));
  });

  it('EB-252: all at once means nothing at all if one node is rejected', () => {
    const roomy = addNode();
    const { result } = verify(
      plan({
        AllAtOnce: true,
        NodeAllocation: { [node.ID]: [alloc(node, 99_999)], [roomy.ID]: [alloc(roomy, 100)] },
        Deployment: fixtures.aDeployment(),
      }),
    );
    expect(result).toMatchObject({ NodeAllocation: {}, NodeUpdate: {}, Deployment: null, AllocIndex: 0 });
    expect(result.RefreshIndex).toBeGreaterThan(0);
  });

  it('EB-255: a full commit needs no refresh', () => {
    expect(verify(plan(placing(node, alloc(node, 100)))).result.RefreshIndex).toBe(0);
  });

  it('EB-245, SC-312: an unknown allocation fails the whole plan', () => {
    const unknown = alloc(node, 1);
    expect(() => verify(plan(stopping(unknown)))).toThrow(Refusal);
    expect(() => verify(plan(stopping(unknown)))).toThrow(`alloc ${unknown.ID} doesn't exist`);
  });

  it('EB-256, DP-122: canaries that were not accepted are not placed; those in state stay; the plan keeps its own object', () => {
    const canary = alloc(node, 99_999);
    const deployment = fixtures.aDeployment({
      TaskGroups: { web: fixtures.aDeploymentState({ PlacedCanaries: ['old', canary.ID] }) },
    });
    const { result } = verify(plan({ ...placing(node, canary), Deployment: deployment }));
    expect(result.Deployment?.TaskGroups['web']?.PlacedCanaries).toEqual(['old']);
    expect(deployment.TaskGroups['web']?.PlacedCanaries).toEqual(['old', canary.ID]);
  });
});

describe('EB-247: allocations of a node that is away', () => {
  const on = (Status: Node['Status'], ...statuses: Allocation['ClientStatus'][]) => {
    const away = addNode({ Status });
    return reasons(plan(placing(away, ...statuses.map((ClientStatus) => alloc(away, 1, { ClientStatus })))));
  };

  it('row 3: of a disconnected node, unknown ones only', () => {
    expect(on('disconnected', 'unknown', 'unknown')).toEqual([]);
    for (const other of ['lost', 'pending'] as const)
      expect(on('disconnected', 'unknown', other)).toEqual(['node is disconnected and contains invalid updates']);
  });

  it('row 4: of a node that is down, lost ones, and unknown ones of a group that is not replaced', () => {
    expect(on('down', 'lost', 'lost')).toEqual([]);
    for (const other of ['unknown', 'pending'] as const)
      expect(on('down', 'lost', other)).toEqual(['node is down and contains invalid updates']);
    const away = addNode({ Status: 'down' });
    const [group] = job.TaskGroups;
    const disconnect = (Replace: boolean) =>
      ({ ...job, TaskGroups: [{ ...group!, Disconnect: { Replace } as never }] }) as typeof job;
    const unknown = plan(placing(away, alloc(away, 1, { ClientStatus: 'unknown' })));
    const view = new OptimisticState(state.tables, new NodeLoads(state.tables));
    const rejected = [disconnect(false), disconnect(true), null].map((of) => verifyPlan(unknown, of, view).rejected);
    expect(rejected.map(({ length }) => length)).toEqual([0, 1, 1]);
    const pending = plan(placing(away, alloc(away, 1)));
    expect(verifyPlan(pending, disconnect(false), view).rejected).toHaveLength(1);
  });

  it('row 7: an update beside a new allocation is no update of the node', () => {
    const here = stored(alloc(node, 100));
    const closed = { NodeID: node.ID, Eligibility: 'ineligible', NodeEvent: null, UpdatedAt: 1 } as const;
    fixtures.apply(state, 'NodeUpdateEligibility', closed);
    expect(reasons(plan(placing(node, here)))).toEqual([]);
    expect(reasons(plan(placing(node, here, alloc(node, 1))))).toEqual(['node is not eligible']);
  });
});

describe('the result', () => {
  it('EB-7: names no node on which nothing happens', () => {
    const { result } = verify(plan({ NodeUpdate: { [node.ID]: [] }, NodeAllocation: { [node.ID]: [] } }));
    expect([result.NodeUpdate, result.NodeAllocation, result.NodePreemptions]).toEqual([{}, {}, {}]);
  });

  it('EB-253: of a partial commit has the index of a change; a state without any is a fault', () => {
    const empty = {
      node: () => undefined,
      alloc: () => undefined,
      allocsOn: () => [],
      loadOf: () => new NodeLoads(state.tables).of(''),
      lastChange: 0,
    };
    const p = plan(placing(node, alloc(node, 1)));
    expect(() => verifyPlan(p, job, empty)).toThrow('partialCommit with RefreshIndex of 0');
    expect(verifyPlan(p, job, { ...empty, lastChange: 7 }).result.RefreshIndex).toBe(7);
  });
});
