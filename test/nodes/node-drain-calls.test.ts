import { randomUUID } from 'node:crypto';
import { registerNode, updateNodeDrain, updateNodeEligibility } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unmountBelow } from '../support/csi-plugin/disks.mjs';
import { NodesAndAgent } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

let cluster: NodesAndAgent;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
});
afterAll(async () => {
  if (cluster) unmountBelow(cluster.dir); // of tasks that go on, or whose agent was killed
  await cluster?.stop();
});

const by = () => ({
  For: { Actor: { Kind: 'anonymous', ID: '', Name: '' }, Reason: '', RequestID: randomUUID() } as const,
});

describe('drain and eligibility over NATS', () => {
  it('DR-11 DR-25 ND-91 ND-92: asked by a call, written by the holder of the role, and eligible again', async () => {
    const node = fixtures.aNode();
    const NodeID = node.ID;
    await cluster.rpc.ask(registerNode, { Node: node });
    const DrainSpec = { Deadline: 3_600e9, IgnoreSystemJobs: false };
    const asked = { NodeID, DrainSpec, MarkEligible: false, Meta: null, UpdatedBy: 'me', ...by() };
    const answer = await cluster.rpc.ask(updateNodeDrain, asked);
    expect(answer).toMatchObject({ EvalIDs: [], SchedulingEligibility: 'ineligible', NodeModifyIndex: answer.Index });
    const stored = () => cluster.state.tables.nodes.get(NodeID);
    await eventually('the drain is complete', () => stored()?.LastDrain?.Status === 'complete');
    expect(stored()?.Events.map((event) => event.Message)).toEqual([
      'Node registered',
      'Node drain strategy set',
      'Node drain complete',
    ]);

    const eligible = { NodeID, Eligibility: 'eligible' };
    expect((await cluster.rpc.ask(updateNodeEligibility, { ...eligible, ...by() })).Index).toBeGreaterThan(0);
    expect((await cluster.rpc.ask(updateNodeEligibility, { ...eligible, ...by() })).Index).toBe(0);
    await expect(cluster.rpc.ask(updateNodeDrain, { ...asked, NodeID: randomUUID(), ...by() })).rejects.toThrow(
      'node not found',
    );
  });
});
