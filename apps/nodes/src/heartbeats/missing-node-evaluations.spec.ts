import { FakeTime, type Node, settle } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { type Applied, fixtures, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NodeEvaluations } from '../node/node-evaluations.js';
import {
  changeNeedsEvaluations,
  EVALUATIONS_DUE_MS,
  LOOK_BACK_SECONDS,
  MissingNodeEvaluations,
} from './missing-node-evaluations.js';

let time: FakeTime;
let state: LocalState;
let missing: MissingNodeEvaluations;
/** Node and index of each attempt to write evaluations. */
let made: string[];
let fails: boolean;

beforeEach(() => {
  time = new FakeTime(fixtures.timeNs / 1e6);
  state = new LocalState(fixtures.aMachine());
  [made, fails] = [[], false];
  const create = async ({ ID }: { ID: string }, index: number) => {
    made.push(`${ID} at ${index}`);
    if (fails) throw new Error('no log');
    return { EvalIDs: ['one', 'two'], EvalCreateIndex: index };
  };
  const evaluations = { create } as unknown as NodeEvaluations;
  missing = new MissingNodeEvaluations({ state, evaluations, clock: time, timers: time, logger: silentLogger });
});

function apply<T extends TxnType>(type: T, payload: TxnPayloads[T]): Applied {
  const applied = fixtures.apply(state.machine, type, payload);
  missing.applied(applied);
  return applied;
}
const register = (over: Partial<Node> = {}): { node: Node; index: number } => {
  const node = fixtures.aNode(over);
  const { index } = apply('NodeRegister', { Node: node, CreateNodePool: false });
  return { node, index };
};
const status = ({ ID }: Node, Status: Node['Status']): number =>
  apply('NodeUpdateStatus', { NodeID: ID, Status, UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' }).index;
const evaluated = (
  NodeID: string,
  NodeModifyIndex: number,
  TriggeredBy: 'node-update' | 'node-drain' = 'node-update',
) =>
  apply('EvalUpdate', {
    Evals: [fixtures.anEval({ JobID: fixtures.freshId(), NodeID, NodeModifyIndex, TriggeredBy })],
  });
const tracked = () => missing.stats()['awaitingEvaluations'];

describe('ND-73: evaluations of a node transaction', () => {
  it('are written when their writer has not written them in time', async () => {
    missing.start();
    const { node, index } = register();
    await time.pass(EVALUATIONS_DUE_MS - 1);
    expect([made, tracked()]).toEqual([[], 1]);
    await time.pass(1);
    expect(made).toEqual([`${node.ID} at ${index}`]);
    expect(missing.stats()).toEqual({ awaitingEvaluations: 0, missingEvaluationsMade: 2 });
  });

  it('are waited for no more once those of this index or a later one are in the log', async () => {
    missing.start();
    const { node, index } = register();
    evaluated(node.ID, index - 1);
    evaluated(node.ID, index, 'node-drain');
    evaluated('other', index);
    expect(tracked()).toBe(1);
    evaluated(node.ID, index);
    expect([tracked(), time.pending]).toEqual([0, 0]);
  });

  it('are those of the last transaction of the node: an earlier one is not made up for beside it', async () => {
    missing.start();
    const { node } = register();
    await time.pass(1_000);
    const index = status(node, 'down');
    await time.pass(EVALUATIONS_DUE_MS);
    expect(made).toEqual([`${node.ID} at ${index}`]);
  });

  it('are tried again after the same time, unless a later transaction of the node waits for its own by then', async () => {
    missing.start();
    fails = true;
    const { node, index } = register();
    await time.pass(EVALUATIONS_DUE_MS);
    expect([made.length, tracked()]).toEqual([1, 1]);
    fails = false;
    await time.pass(EVALUATIONS_DUE_MS);
    expect(made).toEqual(Array(2).fill(`${node.ID} at ${index}`));
    expect([tracked(), time.pending]).toEqual([0, 0]);
  });

  it('ND-37: are not waited for where a registration requires none', async () => {
    missing.start();
    register({ Status: 'initializing' });
    await time.pass(EVALUATIONS_DUE_MS);
    expect([tracked(), made]).toEqual([0, []]);
  });

  it('GC-59: of collected nodes have no other writer, and are written at once', async () => {
    const { node } = register({ Status: 'down' });
    missing.start();
    const { index } = apply('NodeBatchDeregister', { NodeIDs: [node.ID], ScanIndex: state.appliedIndex });
    await time.pass(0);
    expect(made).toEqual([`${node.ID} at ${index}`]);
  });

  it('are nobody’s business without the role, and after it', async () => {
    register();
    expect([tracked(), time.pending]).toEqual([0, 0]);
    missing.start();
    register();
    missing.stop();
    expect([tracked(), time.pending]).toEqual([0, 0]);
  });

  it('that cannot be written at the end of the term are not tried again', async () => {
    missing.start();
    fails = true;
    register();
    time.freeze(EVALUATIONS_DUE_MS);
    const passing = time.pass(0);
    missing.stop();
    await passing;
    await settle();
    expect([tracked(), time.pending]).toEqual([0, 0]);
  });
});

describe('ND-73: a new holder', () => {
  const nowSeconds = () => Math.floor(time.nowMs() / 1_000);

  it('looks at nodes that were written in the last minutes and have no evaluations of it', async () => {
    const at = (StatusUpdatedAt: number) => {
      const { node, index } = register();
      state.tables.nodes.replace(node.ID, { ...state.tables.nodes.get(node.ID)!, StatusUpdatedAt });
      return { node, index };
    };
    const recent = at(nowSeconds() - LOOK_BACK_SECONDS);
    at(nowSeconds() - LOOK_BACK_SECONDS - 1);
    const known = at(nowSeconds());
    evaluated(known.node.ID, known.index);
    evaluated(known.node.ID, known.index - 1);
    const outdated = at(nowSeconds());
    evaluated(outdated.node.ID, outdated.index - 1);
    evaluated(outdated.node.ID, outdated.index, 'node-drain');
    const first = at(nowSeconds());
    state.tables.nodes.replace(first.node.ID, { ...state.tables.nodes.get(first.node.ID)!, ModifyIndex: 1 });
    missing.start();
    await time.pass(0);
    expect(made.splice(2)).toEqual([`${first.node.ID} at 1`]);
    expect(made).toEqual([`${recent.node.ID} at ${recent.index}`, `${outdated.node.ID} at ${outdated.index}`]);
  });

  it('looks at deleted nodes that unfinished allocations name', async () => {
    const { node } = register();
    state.tables.nodes.replace(node.ID, { ...state.tables.nodes.get(node.ID)!, StatusUpdatedAt: 1 });
    for (const over of [
      { NodeID: 'gone' },
      { NodeID: 'ended', ClientStatus: 'complete' as const },
      { NodeID: '' },
      { NodeID: node.ID },
    ]) {
      const alloc = fixtures.anAlloc({ ClientStatus: 'running', ...over });
      state.tables.allocs.replace(alloc.ID, alloc);
    }
    missing.start();
    await time.pass(0);
    expect(made).toEqual([`gone at ${state.tables.nodes.tableIndex}`]);
  });
});

describe('changes of a node that require evaluations', () => {
  const needs = (type: TxnType, before: Node | undefined, after: Node | undefined): boolean =>
    changeNeedsEvaluations({ table: 'nodes', key: 'n', before, after } as never, { txn: { type } } as Applied);
  const ready = fixtures.aNode({ Status: 'ready' });
  const down = { ...ready, Status: 'down' } as const;
  const closed = { ...ready, SchedulingEligibility: 'ineligible' } as const;

  it('ND-142: its deletion, and ND-37: its first registration when it is ready', () => {
    expect(needs('NodeDeregister', ready, undefined)).toBe(true);
    expect(needs('NodeRegister', undefined, ready)).toBe(true);
    expect(needs('NodeRegister', undefined, { ...ready, Status: 'initializing' })).toBe(false);
  });

  it('ND-93: becoming eligible, and not becoming ineligible', () => {
    expect(needs('NodeUpdateEligibility', closed, ready)).toBe(true);
    expect(needs('NodeUpdateEligibility', ready, closed)).toBe(false);
    expect(needs('NodeUpdateDrain', closed, closed)).toBe(false);
    expect(needs('NodeUpdateDrain', ready, ready)).toBe(false);
  });

  it('ND-70: a status that is lost or comes back, if that is what the transaction says', () => {
    expect(needs('NodeUpdateStatus', ready, down)).toBe(true);
    expect(needs('NodeUpdateStatus', down, ready)).toBe(true);
    expect(needs('NodeUpdateStatus', ready, ready)).toBe(false);
    expect(needs('NodeUpdateDrain', ready, down)).toBe(false);
    expect(needs('NodeRegister', closed, ready)).toBe(needs('NodeRegister', ready, ready));
  });
});
