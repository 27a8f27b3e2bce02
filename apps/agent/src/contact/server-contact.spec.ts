import { FakeTime, type NodeStatus } from '@waybill/model';
import { type Call, type NodeUpdateResponse, type Rpc, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { type Logger, silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { MachineCredential } from '../machine/identity/machine-credential.js';
import { ServerContact } from './server-contact.js';

const TTL_MS = 10_000;
const answer = (Status: NodeStatus = 'ready'): NodeUpdateResponse => ({
  HeartbeatTTL: TTL_MS * 1e6,
  EvalIDs: [],
  NodeModifyIndex: 7,
  NumNodes: 1,
  SchedulingEligibility: 'eligible',
  Status,
  Index: 7,
});

/** Servers answers as configured, and records each request with its time. */
class Servers implements Rpc {
  readonly asked: string[] = [];
  readonly statuses: unknown[] = [];
  /** The introduction token of each registration. */
  readonly tokens: (string | undefined)[] = [];
  answers: (call: string) => NodeUpdateResponse | Error | Promise<NodeUpdateResponse> = () => answer();
  constructor(private readonly time: FakeTime) {}
  async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
    this.asked.push(`${call.name}@${this.time.nowMs()}`);
    const { Node, Status, IntroductionToken } = request as {
      Node?: { Status: string };
      Status?: string;
      IntroductionToken?: string;
    };
    if (Node) this.tokens.push(IntroductionToken);
    this.statuses.push(Node?.Status ?? Status);
    const given = await this.answers(call.name);
    if (given instanceof Error) throw given;
    return given as Res;
  }
}

function setup(over: { dev?: boolean; random?: number; token?: string; credential?: MachineCredential } = {}) {
  const steps: string[] = [];
  const time = new FakeTime(0);
  const servers = new Servers(time);
  const heard: NodeStatus[] = [];
  const warnings: { text: string; details: Record<string, unknown> }[] = [];
  const errors: typeof warnings = [];
  const logger: Logger = Object.assign(Object.create(silentLogger) as Logger, {
    warn: (text: string, details: Record<string, unknown> = {}) => void warnings.push({ text, details }),
    error: (text: string, details: Record<string, unknown> = {}) => void errors.push({ text, details }),
  });
  let registered = 0;
  const contact = new ServerContact({
    rpc: servers,
    clock: time,
    timers: time,
    random: () => over.random ?? 0.5,
    logger,
    node: () => fixtures.aNode({ Status: 'ready' }),
    credential: over.credential ?? new MachineCredential('secret'),
    dev: over.dev ?? false,
    introduction: {
      token: async () => (steps.includes('registered') ? undefined : over.token),
      registered: async () => void steps.push('registered'),
      refused: async () => void steps.push('refused'),
    },
  });
  const start = () =>
    contact.start({ registered: () => void registered++, handleNodeStatus: (status) => void heard.push(status) });
  return { time, servers, contact, start, heard, warnings, errors, steps, registrations: () => registered };
}

describe('contact with the servers', () => {
  it('AU-206, AU-207: presents its introduction until it is registered, and again after the servers refused it', async () => {
    const { time, servers, contact, start, steps } = setup({ dev: true, token: 't1' });
    servers.answers = (call) => (call === 'nodes.register' ? new RpcError('forbidden', 'no') : answer());
    start();
    await time.pass(0);
    servers.answers = () => answer();
    await time.pass(1_000);
    contact.nodeChanged();
    await time.pass(0);
    expect([servers.tokens, steps]).toEqual([
      ['t1', 't1', undefined],
      ['refused', 'registered'],
    ]);
  });

  it('AG-30: registers as initializing, heartbeats as ready', async () => {
    const { time, servers, start } = setup();
    start();
    await time.pass(5_000);
    expect(servers.statuses).toEqual(['initializing', 'ready']);
  });

  it('VL-217, AG-24: a change of the machine is told beside the heartbeats, changes in a row together, and again if it failed', async () => {
    const { time, servers, contact, start, registrations } = setup({ dev: true });
    contact.nodeChanged();
    start();
    await time.pass(0);
    expect(servers.asked).toEqual(['nodes.register@0', 'nodes.heartbeat@0']); // the first registration contains it
    for (let i = 0; i < 3; i++) contact.nodeChanged();
    await time.pass(1);
    expect(servers.asked.slice(2)).toEqual(['nodes.register@0', 'nodes.register@0']);
    servers.answers = (call) => (call === 'nodes.register' ? new RpcError('internal', 'no') : answer());
    contact.nodeChanged();
    await time.pass(1);
    expect(contact.isRegistered).toBe(true);
    servers.answers = () => answer();
    await time.pass(TTL_MS);
    expect(servers.asked.slice(4)).toEqual(['nodes.register@1', 'nodes.heartbeat@10000', 'nodes.register@10000']);
    expect(registrations()).toBe(1);
  });

  it('AG-31: a refused registration is tried again after 15 to 30 s, without any server after 1 s', async () => {
    const { time, servers, start } = setup();
    servers.answers = () => new RpcError('internal', 'no');
    start();
    await time.pass(22_500);
    expect(servers.asked).toEqual(['nodes.register@0', 'nodes.register@22500']);
    servers.answers = () => new RpcUnavailableError('nodes.register', 'no responder');
    await time.pass(22_500);
    await time.pass(1_000);
    expect(servers.asked.slice(2)).toEqual(['nodes.register@45000', 'nodes.register@46000']);
  });

  it('PG-7: a machine that is too large for a message says what to do, and is tried again', async () => {
    const { time, servers, start, errors, registrations } = setup();
    servers.answers = () => new RpcError('too-large', 'nodes.register: the question has 2000000 bytes');
    start();
    await time.pass(0);
    expect(errors).toEqual([
      {
        text: 'this machine is described by more bytes than NATS takes: remove metadata, plugins or devices, or raise max_payload',
        details: { bytes: expect.objectContaining({ Drivers: expect.any(Number) as number }) as object },
      },
    ]);
    servers.answers = () => answer();
    await time.pass(60_000);
    expect([errors.length, registrations()]).toEqual([1, 1]);
  });

  it('AG-32: the first heartbeat after a random 0 to 10 s, each next one at the end of its TTL; in development at once', async () => {
    const { time, servers, start } = setup();
    start();
    await time.pass(25_000);
    expect(servers.asked).toEqual([
      'nodes.register@0',
      'nodes.heartbeat@5000',
      'nodes.heartbeat@15000',
      'nodes.heartbeat@25000',
    ]);
    const dev = setup({ dev: true });
    dev.start();
    await dev.time.pass(0);
    expect(dev.servers.asked).toEqual(['nodes.register@0', 'nodes.heartbeat@0']);
  });

  it('AG-33: `node not found` leads to a new registration at once', async () => {
    const { time, servers, start, registrations } = setup();
    start();
    await time.pass(4_999);
    servers.answers = (call) => (call === 'nodes.heartbeat' ? new RpcError('not-found', 'node not found') : answer());
    await time.pass(1);
    expect(servers.asked.slice(1)).toEqual(['nodes.heartbeat@5000', 'nodes.register@5000']);
    expect(registrations()).toBe(2);
  });

  it('AG-33: a heartbeat that is wanted now is sent now, one at a time, and the next one a TTL later', async () => {
    const { time, servers, contact, start } = setup();
    contact.heartbeatNow();
    start();
    await time.pass(1_000);
    contact.heartbeatNow();
    contact.heartbeatNow();
    await time.pass(TTL_MS);
    expect(servers.asked).toEqual(['nodes.register@0', 'nodes.heartbeat@1000', 'nodes.heartbeat@11000']);
    let respond: (given: NodeUpdateResponse) => void = () => {};
    servers.answers = () => new Promise((resolve) => (respond = resolve));
    await time.pass(TTL_MS);
    contact.heartbeatNow(); // while one is under way
    await time.pass(1_000);
    respond(answer());
    await time.pass(TTL_MS - 1);
    expect(servers.asked.slice(3)).toEqual(['nodes.heartbeat@21000']);
  });

  it('AG-36: after an outage it says how many heartbeats were missed', async () => {
    const { time, servers, start, warnings } = setup({ random: 0 });
    start();
    await time.pass(TTL_MS);
    servers.answers = () => new RpcUnavailableError('heartbeat', 'timeout');
    await time.pass(5 * TTL_MS);
    servers.answers = () => answer();
    await time.pass(3 * TTL_MS);
    const [told] = warnings.filter(({ text }) => text === 'the servers are back');
    expect(Number(told?.details['missedHeartbeats'])).toBeGreaterThanOrEqual(4);
  });

  it('AG-35: remembers when it last had contact', async () => {
    const { time, servers, contact, start } = setup();
    start();
    await time.pass(5_000);
    expect(contact.lastSuccessMs).toBe(5_000);
    servers.answers = () => new RpcError('internal', 'no');
    await time.pass(10_000);
    expect(contact.lastSuccessMs).toBe(5_000);
  });

  it('ND-68: tells what the node is for the servers', async () => {
    const { time, servers, start, heard } = setup();
    start();
    await time.pass(0);
    servers.answers = () => answer('initializing');
    await time.pass(5_000);
    expect(heard).toEqual(['initializing']);
  });

  it('stops for good', async () => {
    const { time, servers, contact, start } = setup();
    start();
    await time.pass(5_000);
    contact.stop();
    const before = servers.asked.length;
    await time.pass(3_600_000);
    expect(servers.asked).toHaveLength(before);
    expect(time.pending).toBe(0);
  });
});
