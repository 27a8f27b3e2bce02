import { FakeTime } from '@waybill/model';
import type { RegisteredService } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { FIRST_RETRY_MS, MAX_RETRY_MS, Registrations } from './registrations.js';

const service = (ID: string, Port = 80): RegisteredService => ({
  ID,
  ServiceName: 'web',
  Tags: null,
  Address: '10.0.0.1',
  Port,
});

function setup(earlier: string[] = []) {
  const time = new FakeTime();
  const calls: string[] = [];
  const failing = { now: false };
  const heard = async (call: string): Promise<void> => {
    calls.push(`${time.nowMs()} ${call}`);
    if (failing.now) throw new Error('the servers are away');
  };
  const registry = {
    register: (_: string, services: readonly RegisteredService[]) =>
      heard(`+${services.map(({ ID, Port }) => `${ID}:${Port}`).join()}`),
    deregister: (_: string, ids: readonly string[]) => heard(`-${ids.join()}`),
  };
  const registrations = new Registrations({ allocId: 'a', registry, timers: time, logger: silentLogger });
  registrations.restore(earlier);
  const said = () => calls.splice(0).map((call) => call.split(' ')[1]);
  return { time, calls, failing, registrations, said };
}

describe('telling the servers of services', () => {
  it('AG-144: a changed one is said again, a vanished one removed, the rest left alone', async () => {
    const { registrations, said } = setup();
    await registrations.setServices([service('a'), service('b')]);
    await registrations.setServices([service('a'), service('b')]);
    expect(said()).toEqual(['+a:80,b:80']);
    await registrations.setServices([service('a', 81), service('c')]);
    expect(said()).toEqual(['-b', '+a:81,c:80']);
    await registrations.setServices([]);
    expect(said()).toEqual(['-a,c']);
  });

  it('AG-142: what fails is tried again, backing off from 100 ms to 1 s, until it is done', async () => {
    const { time, calls, failing, registrations, said } = setup();
    await registrations.setServices([service('a')]);
    calls.length = 0;
    failing.now = true;
    const from = time.nowMs();
    await registrations.setServices([]);
    await time.pass(3_500);
    const waits = [FIRST_RETRY_MS, 200, 400, 800, MAX_RETRY_MS, MAX_RETRY_MS];
    const at = waits.reduce((times, wait) => [...times, (times.at(-1) ?? 0) + wait], [0]);
    expect(calls).toEqual(at.map((ms) => `${from + ms} -a`));
    failing.now = false;
    await time.pass(MAX_RETRY_MS);
    said();
    await time.pass(60_000);
    expect(said()).toEqual([]);
    expect(time.pending).toBe(0);
  });

  it('one that may have been made known is removed too, and a closed one says nothing', async () => {
    const { time, failing, registrations, said } = setup();
    failing.now = true;
    await registrations.setServices([service('a')]);
    failing.now = false;
    await registrations.setServices([]);
    expect(said()).toEqual(['+a:80', '-a']);
    registrations.close();
    await registrations.setServices([service('b')]);
    await time.pass(10_000);
    expect(said()).toEqual([]);
  });

  it('AG-144: what vanished while the agent was away is removed when it is back', async () => {
    const { registrations, said } = setup(['a', 'b']);
    expect(registrations.ids).toEqual(['a', 'b']);
    await registrations.setServices([service('a')]);
    expect(said()).toEqual(['-b', '+a:80']);
    expect(registrations.ids).toEqual(['a']);
  });
});
