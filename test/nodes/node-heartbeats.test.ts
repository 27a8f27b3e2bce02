import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { registerNode } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unmountBelow } from '../support/csi-plugin/disks.mjs';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

let cluster: NodesAndAgent;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
});
afterAll(async () => {
  if (cluster) unmountBelow(cluster.dir); // of tasks that go on, or whose agent was killed
  await cluster?.stop();
});

const DEVELOPMENT = { WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true' };
const LEAVES = { WAYBILL_AGENT_LEAVE_ON_TERMINATE: 'true', WAYBILL_AGENT_DRAIN_ON_SHUTDOWN: 'true' };
const isStatus = (name: string, status: string) =>
  eventually(`${name} is ${status}`, async () => (await cluster.node(name)).Status === status);

describe('nodes and agents over NATS', () => {
  it('ND-80, ND-63, AG-201: a machine that falls silent is down, comes back ready, and stops what is no longer wanted', async () => {
    const first = await cluster.startAgent('silent');
    await isStatus('silent', 'ready');
    const node = await cluster.node('silent');
    const alloc = await cluster.place(node.ID, [shellTask('exec sleep 600')]);
    await cluster.inStatus(alloc.ID, 'running');
    await cluster.endAgent(first, 'SIGKILL');
    await isStatus('silent', 'down');
    const messages = (await cluster.node('silent')).Events.map((e) => e.Message);
    expect(messages.at(-1)).toBe('Node heartbeat missed');
    await eventually('an evaluation of its job', () =>
      [...cluster.state.tables.evals.all()].some((e) => e.TriggeredBy === 'node-update' && e.JobID === alloc.JobID),
    );

    await cluster.stopAlloc(alloc);
    const second = await cluster.startAgent('silent');
    await isStatus('silent', 'ready');
    await cluster.inStatus(alloc.ID, 'complete');
    await cluster.endAgent(second, 'SIGTERM');
  });

  it('ND-51, AG-406: an idle machine writes nothing to the log', async () => {
    const agent = await cluster.startAgent('idle', DEVELOPMENT);
    await isStatus('idle', 'ready');
    const { ID, ModifyIndex: before } = await cluster.node('idle');
    const written: string[] = [];
    // Of this machine only: the one before it is found missing in these seconds.
    const off = cluster.state.onApplied(({ txn }) => {
      if (JSON.stringify(txn.payload).includes(ID)) written.push(txn.type);
    });
    const deadline = Date.now() + 3_000; // more than two heartbeats at this pace
    await eventually('three seconds passed', () => Date.now() > deadline);
    off();
    expect(written).toEqual([]);
    expect((await cluster.node('idle')).ModifyIndex).toBe(before);
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('AG-16, AG-47, AG-220, AG-270: it finds the server that is there among several, and has what its settings say; an allocation for a driver that is not there is failed with the reason', async () => {
    const servers = `nats://127.0.0.1:1,${cluster.natsUrl}`;
    const off = { WAYBILL_RAW_EXEC_ENABLED: 'false', WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false' };
    const agent = await cluster.startAgent('plain', { ...DEVELOPMENT, ...off, WAYBILL_NATS_URL: servers });
    const node = await cluster.node('plain');
    expect(node.Drivers['raw_exec']).toMatchObject({ Detected: false, HealthDescription: 'disabled' });
    expect(node.Attributes).not.toHaveProperty(['driver.raw_exec']);
    expect(node.Attributes).toMatchObject({
      'secrets.memory': 'false',
      'secrets.memory.missing': 'WAYBILL_AGENT_SECRETS_IN_MEMORY is off',
    });
    const alloc = await cluster.place(node.ID, [shellTask('true', { Driver: 'qemu' })]);
    const failed = await cluster.inStatus(alloc.ID, 'failed');
    expect(failed.ClientDescription).toMatch(/^Unable to add allocation due to error: .*qemu/);
    expect(failed.DeploymentStatus?.Healthy).toBe(false);
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('AG-84, ND-128: a task that fails for good is reported, and an evaluation asks for a replacement', async () => {
    const agent = await cluster.startAgent('failing', DEVELOPMENT);
    const node = await cluster.node('failing');
    const RestartPolicy = { Attempts: 1, Interval: 3600e9, Delay: 1e8, Mode: 'fail', RenderTemplates: false };
    const alloc = await cluster.place(node.ID, [shellTask('exit 9', { RestartPolicy })]);
    const failed = await cluster.inStatus(alloc.ID, 'failed');
    expect(failed.TaskStates['web']).toMatchObject({ State: 'dead', Failed: true, Restarts: 1 });
    const evals = [...cluster.state.tables.evals.all()].filter((e) => e.JobID === alloc.JobID);
    expect(evals.map((e) => e.TriggeredBy)).toContain('alloc-failure');
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('the first report that a task runs is in the trace of the plan that placed it', async () => {
    const agent = await cluster.startAgent('traced', DEVELOPMENT);
    const node = await cluster.node('traced');
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const seen: string[] = [];
    const stop = cluster.state.onApplied(({ txn }) => {
      if (txn.type === 'AllocClientUpdate') seen.push(txn.traceparent ?? '');
    });
    const alloc = await cluster.place(node.ID, [shellTask('exec sleep 600')], { traceparent });
    await cluster.inStatus(alloc.ID, 'running');
    stop();
    expect(seen.every((one) => one.includes('0af7651916cd43dd8448eb211c80319c'))).toBe(true);
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('AG-10, ND-30: the identity is on disk for the owner only; nobody else can take it over', async () => {
    const agent = await cluster.startAgent('owner', DEVELOPMENT);
    const node = await cluster.node('owner');
    const { mode } = await import('node:fs/promises').then((fs) => fs.stat(`${cluster.agentDir('owner')}/secret-id`));
    expect(mode & 0o077).toBe(0);
    expect(readFileSync(`${cluster.agentDir('owner')}/client-id`, 'utf8')).toBe(node.ID);
    const thief = fixtures.aNode({ ID: node.ID, SecretID: 'stolen' });
    await expect(cluster.rpc.ask(registerNode, { Node: thief })).rejects.toThrow('node secret ID does not match');
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('AG-33, ND-144: a machine that was purged registers again with the same identity, as a new node', async () => {
    const agent = await cluster.startAgent('purged', DEVELOPMENT);
    await isStatus('purged', 'ready');
    const before = await cluster.node('purged');
    const index = await cluster.write('NodeDeregister', { NodeID: before.ID });
    const after = await eventually('it is back', () => cluster.state.tables.nodes.get(before.ID));
    expect(after.CreateIndex).toBeGreaterThan(index);
    await isStatus('purged', 'ready');
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('DR-80, AG-341, AG-342, AG-343: a machine that leaves drains itself, and ends when its work has ended', async () => {
    const agent = await cluster.startAgent('leaving', { ...LEAVES, WAYBILL_AGENT_DRAIN_FORCE: 'true' });
    const { ID } = await cluster.node('leaving');
    const alloc = await cluster.place(ID, [shellTask('exec sleep 600')]);
    await cluster.inStatus(alloc.ID, 'running');
    const ended = cluster.endAgent(agent, 'SIGTERM');
    const drained = await eventually('it is drained', () => {
      const node = cluster.state.tables.nodes.get(ID);
      return node?.LastDrain?.Status === 'complete' && node;
    });
    expect(drained).toMatchObject({
      DrainStrategy: null,
      SchedulingEligibility: 'ineligible',
      LastDrain: { AccessorID: `client:${ID}`, Meta: { message: 'shutting down' } },
    });
    expect([cluster.alloc(alloc.ID).DesiredTransition.Migrate, agent.exitCode]).toEqual([true, null]);
    await cluster.stopAlloc(alloc); // as the scheduler does with what is to migrate
    await ended;
    expect([agent.exitCode, cluster.alloc(alloc.ID).ClientStatus]).toEqual([0, 'complete']);
  });

  it('AG-341: a second signal ends a machine that leaves at once', async () => {
    const agent = await cluster.startAgent('hurried', LEAVES);
    const { ID } = await cluster.node('hurried');
    const alloc = await cluster.place(ID, [shellTask('exec sleep 600')]);
    await cluster.inStatus(alloc.ID, 'running');
    agent.kill('SIGTERM');
    await eventually('it is being drained', () => cluster.state.tables.nodes.get(ID)?.DrainStrategy !== null);
    await cluster.endAgent(agent, 'SIGTERM');
    expect([agent.exitCode, cluster.alloc(alloc.ID).ClientStatus]).toEqual([0, 'running']);
    await cluster.endAgent(await cluster.startAgent('hurried', DEVELOPMENT), 'SIGTERM'); // ends the task too
  });

  it('AG-14: a second agent on the same directory is refused', async () => {
    const agent = await cluster.startAgent('twice', DEVELOPMENT);
    const second = await cluster.spawnAgent('twice', DEVELOPMENT);
    const [code] = await once(second.agent, 'exit');
    expect(code).not.toBe(0);
    expect(readFileSync(second.logFile, 'utf8')).toContain('in use by process');
    await cluster.endAgent(agent, 'SIGTERM');
  });
});
