import { nodesWriter } from '../node/nodes-writer.js';
import { termOf } from '@waybill/roles';
import { FakeTime, type Node } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { DEFAULT_PACE } from './heartbeat-ttl.js';
import { type HeartbeatDependencies, Heartbeats } from './heartbeats.js';
import { NodeEvaluations } from '../node/node-evaluations.js';

const LOST_AFTER = {
  LostAfter: 60e9,
  StopOnClientAfter: null,
  Replace: true,
  Reconcile: 'best_score',
};

/** Heartbeats over a local log, on a clock of their own; `random` is what every TTL is spread by. */
export function heartbeating(
  random: () => number = () => 0,
  ofIdentities: Pick<HeartbeatDependencies, 'identities' | 'identityCheck'> = {},
) {
  const time = new FakeTime(fixtures.timeNs / 1e6);
  const state = new LocalState(fixtures.aMachine());
  let ids = 0;
  const writer = nodesWriter(state, { clock: time, newId: () => `heartbeat-${ids++}`, region: 'global' });
  const heartbeats = new Heartbeats({
    state,
    writer,
    evaluations: new NodeEvaluations(state, writer),
    clock: time,
    timers: time,
    random,
    pace: DEFAULT_PACE,
    logger: silentLogger,
    ...ofIdentities,
  });
  state.onApplied((applied) => heartbeats.applied(applied));
  const add = (over: Partial<Node> = {}): Node => {
    const node = fixtures.aNode(over);
    fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    return node;
  };
  const take = (followsRestore = false): void => {
    fixtures.apply(state.machine, 'LeaseAcquired', { Role: 'nodes', Epoch: 1, Holder: 'h' });
    heartbeats.start(termOf('nodes', 1, { followsRestore }));
  };
  const takeAfterRestore = (): void => take(true);
  const beat = (node: Node, status: Node['Status'] = 'ready') =>
    heartbeats.heartbeat({ NodeID: node.ID, SecretID: node.SecretID, Status: status });
  const stored = (node: Node): Node => {
    const found = state.tables.nodes.get(node.ID);
    if (!found) throw new Error(`no node ${node.ID}`);
    return found;
  };
  /** A running service allocation on the node, of a job that is registered. */
  const work = (node: Node, over: Parameters<typeof fixtures.anAlloc>[0] = {}, lostAfter = false) => {
    const group = fixtures.aGroup({ Disconnect: lostAfter ? LOST_AFTER : null });
    const { job } = fixtures.aRegisteredJob(
      state.machine,
      fixtures.aJob({ ID: fixtures.freshId(), TaskGroups: [group] }),
    );
    const alloc = fixtures.anAlloc({ Job: job, JobID: job.ID, NodeID: node.ID, ClientStatus: 'running', ...over });
    state.tables.allocs.replace(alloc.ID, alloc);
    return alloc;
  };
  return { time, state, heartbeats, add, take, takeAfterRestore, beat, stored, work };
}
