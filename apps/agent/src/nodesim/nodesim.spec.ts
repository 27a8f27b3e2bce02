import { FakeTime } from '@waybill/model';
import {
  type AskOptions,
  type Call,
  heartbeat,
  nodeAllocs,
  registerNode,
  type Rpc,
  RpcUnavailableError,
} from '@waybill/rpc';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { DEFAULT_FLEET, FleetOptionError, fleetOptions } from './fleet-options.js';
import { SimulatedFleet } from './fleet.js';
import { noCounts, UnsteadyLink } from './unsteady-link.js';

/** Servers accepts every registration and heartbeat, and lets reads of allocations wait. */
class Servers implements Rpc {
  readonly asked: { name: string; request: unknown }[] = [];

  async ask<Req, Res>(asked: Call<Req, Res>, request: Req, _options?: AskOptions): Promise<Res> {
    this.asked.push({ name: asked.name, request });
    if (asked.name === nodeAllocs.name) return new Promise(() => {});
    return { HeartbeatTTL: 10e9, EvalIDs: [], Status: 'ready', Index: 7 } as Res;
  }

  count(call: { readonly name: string }): number {
    return this.asked.filter(({ name }) => name === call.name).length;
  }
}

function setup(over: Partial<typeof DEFAULT_FLEET>) {
  const time = new FakeTime(1_767_225_600_000);
  const servers = new Servers();
  const fleet = new SimulatedFleet(
    {
      rpc: servers,
      clock: time,
      timers: time,
      newId: () => 'id',
      random: () => 0.5,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
    },
    { ...DEFAULT_FLEET, ...over },
  );
  const pass = (seconds: number) => time.pass(seconds * 1_000);
  return { servers, fleet, pass };
}

describe('a simulated fleet', () => {
  it('starts at its pace, registers every machine once and heartbeats for each, as an agent does', async () => {
    const { servers, fleet, pass } = setup({ nodes: 30, startPerSecond: 10 });
    fleet.start();
    await pass(1);
    expect(fleet.stats().started).toBeLessThan(15);
    await pass(4);
    expect(servers.count(registerNode)).toBe(30);
    expect(fleet.stats()).toMatchObject({ started: 30, registered: 30, cutOff: 0, refused: 0, unanswered: 0 });
    const before = servers.count(heartbeat);
    await pass(20);
    expect(servers.count(heartbeat) - before).toBeGreaterThanOrEqual(30);
    await fleet.stop();
  });

  it('has the same machines for the same seed, others for another', async () => {
    const identities = async (seed: string) => {
      const { fleet, pass } = setup({ nodes: 5, seed });
      fleet.start();
      await pass(1);
      await fleet.stop();
      return fleet.members.map(({ node }) => [node.ID, node.SecretID]);
    };
    const first = await identities('a');
    expect(new Set(first.flat()).size).toBe(10);
    expect(await identities('a')).toEqual(first);
    expect((await identities('b')).flat().some((id) => first.flat().includes(id))).toBe(false);
  });

  it('cuts machines off and lets them back; a stopped fleet is silent', async () => {
    const { servers, fleet, pass } = setup({ nodes: 4, cutsPerMinute: 6, cutSeconds: 25 });
    fleet.start();
    await pass(11);
    expect(fleet.stats().cutOff).toBe(1);
    await pass(12);
    expect(fleet.stats().cutOff).toBe(2);
    await pass(120);
    expect(fleet.stats().cutOff).toBeLessThanOrEqual(3);
    expect(fleet.stats().unanswered).toBeGreaterThan(0);
    await fleet.stop();
    const asked = servers.asked.length;
    await pass(60);
    expect(servers.asked.length).toBe(asked);
  });
});

describe('an outage', () => {
  it('cuts so many machines off together, once, and lets all of them back', async () => {
    const { fleet, pass } = setup({ nodes: 5, outageNodes: 2, outageAfterSeconds: 30, cutSeconds: 20 });
    fleet.start();
    await pass(29);
    expect(fleet.stats().cutOff).toBe(0);
    await pass(2);
    expect(fleet.members.map(({ link }) => link.isCut)).toEqual([true, true, false, false, false]);
    await pass(20);
    expect(fleet.stats().cutOff).toBe(0);
    await pass(120);
    expect(fleet.stats().cutOff).toBe(0);
    await fleet.stop();
  });
});

describe('an unsteady link', () => {
  const linkOf = (fates: number[], over: object = {}) => {
    const servers = new Servers();
    const counts = noCounts();
    const time = new FakeTime(0);
    const link = new UnsteadyLink({
      to: servers,
      timers: time,
      random: () => fates.shift() ?? 0.99,
      unsteadiness: { latencyMs: 0, loss: 0.4, ...over },
      counts,
    });
    return { servers, counts, link, time };
  };
  const beat = { NodeID: 'n', SecretID: 's', Status: 'ready' } as const;

  it('loses half of what it loses on the way there, half on the way back', async () => {
    const { servers, counts, link } = linkOf([0.1, 0.3, 0.5]);
    await expect(link.ask(heartbeat, beat)).rejects.toThrow(RpcUnavailableError);
    expect(servers.asked).toHaveLength(0);
    await expect(link.ask(heartbeat, beat)).rejects.toThrow(RpcUnavailableError);
    expect(servers.asked).toHaveLength(1);
    await link.ask(heartbeat, beat);
    expect(counts).toMatchObject({ asked: 3, answered: 1, unanswered: 2, refused: 0 });
  });

  it('delays each request by a random part of its latency', async () => {
    const { servers, link, time } = linkOf([0.5, 0.99], { latencyMs: 100, loss: 0 });
    const answer = link.ask(heartbeat, beat);
    await time.pass(49);
    expect(servers.asked).toHaveLength(0);
    await time.pass(1);
    await answer;
    expect(servers.asked).toHaveLength(1);
  });
});

describe('options of a fleet', () => {
  it('are read from flags, with defaults', () => {
    const options = fleetOptions({ nodes: '7', 'memory-mb': '512', 'start-per-second': '0.5', datacenters: 'dc1,dc2' });
    expect(options).toEqual({
      ...DEFAULT_FLEET,
      nodes: 7,
      memoryMB: 512,
      startPerSecond: 0.5,
      datacenters: ['dc1', 'dc2'],
    });
  });

  it.each([{ nodes: '0' }, { nodes: '1.5' }, { nodes: 'many' }, { nodes: '' }, { loss: '2' }, { datacenters: ',' }])(
    'out of range or unreadable are refused by name: %j',
    (given) => {
      const [name] = Object.keys(given);
      expect(() => fleetOptions(given)).toThrow(FleetOptionError);
      expect(() => fleetOptions(given)).toThrow(`--${name}`);
    },
  );
});
