import { type Allocation, FakeTime } from '@waybill/model';
import { type Call, type Rpc, RpcUnavailableError, type SelfDrainRequest } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { GRACE_MS, LOOK_MS, SelfDrain, type ShutdownDrain } from './self-drain.js';

const MINUTE = 60_000;
const DRAIN: ShutdownDrain = { deadlineMs: 10 * MINUTE, force: false, ignoreSystemJobs: false };

/** Servers takes a drain at index 7 and reports it as running until a test changes that. */
class Servers implements Rpc {
  there = true;
  draining = true;
  readonly drains: SelfDrainRequest[] = [];
  looks = 0;

  async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
    if (!this.there) throw new RpcUnavailableError(call.name, 'no responder');
    if (call.name === 'nodes.drainSelf') {
      this.drains.push(request as unknown as SelfDrainRequest);
      return { Index: 7 } as Res;
    }
    expect(request).toEqual({ NodeID: 'n', SecretID: 's', MinStateIndex: 7 });
    this.looks++;
    return { Draining: this.draining } as Res;
  }
}

function leaving(over: Partial<ShutdownDrain> = {}, allocs: Allocation[] = []) {
  const time = new FakeTime();
  const servers = new Servers();
  const here = { allocs, left: false };
  const drain = new SelfDrain(
    { ...DRAIN, ...over },
    {
      rpc: servers,
      timers: time,
      newId: () => 'request',
      logger: silentLogger,
      node: () => ({ ID: 'n', SecretID: 's' }),
      unfinished: () => here.allocs,
    },
  );
  const begin = () => void drain.drainMachine().then(() => (here.left = true));
  return { time, servers, here, begin };
}

const work = (Type = 'service') => fixtures.anAlloc({ Job: fixtures.aJob({ Type }) });

describe('a machine that leaves', () => {
  it('DR-80, AG-342: asks for its drain once, with its secret, and then every second whether it is over', async () => {
    const { time, servers, here, begin } = leaving();
    begin();
    await time.pass(5 * LOOK_MS);
    expect(servers.drains).toEqual([
      {
        NodeID: 'n',
        SecretID: 's',
        RequestID: 'request',
        DrainSpec: { Deadline: 600e9, IgnoreSystemJobs: false },
        Meta: { message: 'shutting down' },
      },
    ]);
    expect([servers.looks, here.left]).toEqual([6, false]);
    servers.draining = false;
    await time.pass(LOOK_MS);
    expect(here.left).toBe(true);
    expect(time.pending).toBe(0);
  });

  it('AG-342: does not leave work behind that is still being put down', async () => {
    const { time, servers, here, begin } = leaving({}, [work()]);
    servers.draining = false;
    begin();
    await time.pass(5 * LOOK_MS);
    expect(here.left).toBe(false);
    here.allocs = [];
    await time.pass(LOOK_MS);
    expect(here.left).toBe(true);
  });

  it('AG-342: forced means now; what system jobs run may be left where it is', async () => {
    const { time, servers, here, begin } = leaving({ force: true, ignoreSystemJobs: true }, [work('system')]);
    servers.draining = false;
    begin();
    await time.pass(0);
    expect(servers.drains[0]!.DrainSpec).toEqual({ Deadline: -1e9, IgnoreSystemJobs: true });
    expect(here.left).toBe(true);
  });

  it('AG-341: gives up after the deadline and a grace', async () => {
    const { time, here, begin } = leaving({}, [work()]);
    begin();
    await time.pass(DRAIN.deadlineMs + GRACE_MS - LOOK_MS);
    expect(here.left).toBe(false);
    await time.pass(LOOK_MS);
    expect(here.left).toBe(true);
  });

  it('AG-342: without servers it waits for its own allocations to end; servers that come back are asked', async () => {
    const { time, servers, here, begin } = leaving({}, [work()]);
    servers.there = false;
    begin();
    await time.pass(MINUTE);
    expect(here.left).toBe(false);
    servers.there = true;
    await time.pass(LOOK_MS);
    expect(servers.drains).toHaveLength(1);
    servers.there = false;
    here.allocs = [];
    await time.pass(LOOK_MS);
    expect(here.left).toBe(true);
  });
});
