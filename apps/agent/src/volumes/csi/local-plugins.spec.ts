import { type CSIInfo, FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { FakePlugin } from '../../fixtures/fake-plugin.js';
import { LocalPlugins } from './local-plugins.js';
import { type PluginRegistration, PluginRegistry } from './plugin-registry.js';

const of = (allocId: string, side: 'node' | 'controller' = 'node'): PluginRegistration => ({
  side,
  pluginId: 'disks',
  allocId,
  socketPath: `/s/${allocId}`,
  provider: 'provider',
  providerVersion: '2',
  mountRoot: '/m',
  pluginRoot: '/p',
});
const nobody = new AbortController().signal;

async function setup() {
  const time = new FakeTime();
  const made = new Map<string, FakePlugin>();
  const pluginOf = (allocId: string): FakePlugin => {
    const plugin = made.get(`/s/${allocId}`) ?? new FakePlugin();
    made.set(`/s/${allocId}`, plugin);
    return plugin;
  };
  const reports: [string, CSIInfo][] = [];
  const registry = new PluginRegistry({ load: async () => [], save: async () => {} }, silentLogger);
  const plugins = new LocalPlugins({
    registry,
    connect: (socketPath) => pluginOf(socketPath.slice('/s/'.length)).connect(),
    clock: time,
    timers: time,
    report: (side, info) => reports.push([side, info]),
  });
  plugins.start();
  const last = (side = 'node') => reports.findLast(([one]) => one === side)?.[1];
  return { time, plugins, registry, reports, pluginOf, last };
}

describe('plugins that run here', () => {
  it('VL-212, VL-213, VL-214: looked at once and every 30 s; what does not change is asked once', async () => {
    const { time, registry, reports, pluginOf, last } = await setup();
    pluginOf('a').machine = { nodeId: 'n1', maxVolumes: 0n, topology: { zone: 'z1' } };
    await registry.register(of('a'));
    await time.pass(60_000);
    expect(reports).toHaveLength(3);
    expect(pluginOf('a').asked.filter((one) => one === 'machine' || one === 'plugin capabilities')).toHaveLength(2);
    expect(pluginOf('a').asked.filter((one) => one === 'probe')).toHaveLength(3);
    expect(last()).toMatchObject({
      PluginID: 'disks',
      AllocID: 'a',
      Healthy: true,
      HealthDescription: 'healthy',
      Provider: 'provider',
      ProviderVersion: '2',
      RequiresControllerPlugin: true,
      RequiresTopologies: false,
      NodeInfo: {
        ID: 'n1',
        MaxVolumes: Number.MAX_SAFE_INTEGER,
        AccessibleTopology: { Segments: { zone: 'z1' } },
        RequiresNodeStageVolume: true,
      },
    });
    expect(last()).not.toHaveProperty('ControllerInfo');
  });

  it('VL-8, VL-213: a limit beyond what JSON can say is no limit', async () => {
    const { time, registry, pluginOf, last } = await setup();
    pluginOf('a').machine = { nodeId: 'n1', maxVolumes: 9_223_372_036_854_775_807n, topology: null };
    await registry.register(of('a'));
    await time.pass(0);
    expect(last()?.NodeInfo?.MaxVolumes).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('VL-215: says how it is', async () => {
    const { time, registry, pluginOf, last } = await setup();
    pluginOf('a').probe = () => Promise.reject(new Error('no disk'));
    await registry.register(of('a'));
    await time.pass(0);
    expect(last()).toMatchObject({ Healthy: false, HealthDescription: 'failed initial fingerprint with err: no disk' });
    pluginOf('a').probe = async () => false;
    await time.pass(30_000);
    expect(last()).toMatchObject({ Healthy: false, HealthDescription: 'unhealthy' });
    pluginOf('a').probe = async () => true;
    await time.pass(30_000);
    expect(last()).toMatchObject({ Healthy: true, HealthDescription: 'healthy' });
    pluginOf('a').probe = () => Promise.reject(new Error('gone'));
    await time.pass(30_000);
    expect(last()).toMatchObject({ Healthy: false, HealthDescription: 'failed fingerprinting with error: gone' });
  });

  it('VL-212: one whose health has changed is looked at at once, while it is unwell every 5 s', async () => {
    const { time, registry, pluginOf, last } = await setup();
    await registry.register(of('a'));
    await time.pass(1_000);
    pluginOf('a').probe = () => Promise.reject(new Error('gone'));
    registry.healthChanged('other');
    await time.pass(0);
    expect(last()?.Healthy).toBe(true);
    registry.healthChanged('a');
    await time.pass(0);
    expect(last()).toMatchObject({ Healthy: false, HealthDescription: 'failed fingerprinting with error: gone' });
    pluginOf('a').probe = async () => true;
    await time.pass(5_000);
    expect(last()?.Healthy).toBe(true);
  });

  it('VL-212: a look that was under way when its health changed is repeated at once', async () => {
    const { time, registry, pluginOf, last } = await setup();
    await registry.register(of('a'));
    await time.pass(0);
    let refuse: (error: Error) => void = () => {};
    pluginOf('a').probe = () => new Promise((_, reject) => (refuse = reject));
    await time.pass(30_000);
    pluginOf('a').probe = async () => true;
    registry.healthChanged('a');
    refuse(new Error('gone'));
    await time.pass(0);
    expect(last()?.Healthy).toBe(true);
  });

  it('VL-222: whoever mounts waits for a plugin that is unwell, and no longer than that', async () => {
    const { time, plugins, registry, pluginOf } = await setup();
    await registry.register(of('a'));
    await time.pass(0);
    pluginOf('a').probe = () => Promise.reject(new Error('gone'));
    registry.healthChanged('a');
    await time.pass(0);
    let isReady = false;
    const waiting = plugins.nodePluginReady('disks', nobody).then(() => (isReady = true));
    await time.pass(4_000);
    expect([isReady, plugins.nodePlugin('disks')?.machine.ID]).toEqual([false, 'n1']);
    pluginOf('a').probe = async () => true;
    registry.healthChanged('a');
    await time.pass(0);
    await waiting;
    expect(isReady).toBe(true);
  });

  it('VL-218: one that is replaced says so once, with what it was, and hangs up', async () => {
    const { time, registry, reports, pluginOf } = await setup();
    await registry.register(of('old'));
    await time.pass(0);
    await registry.register(of('new'));
    await time.pass(0);
    expect(reports.map(([, { AllocID, Healthy }]) => [AllocID, Healthy])).toEqual([
      ['old', true],
      ['old', false],
      ['new', true],
    ]);
    expect(reports[1]?.[1].NodeInfo?.ID).toBe('n1');
    expect(pluginOf('old').closed).toBe(1);
  });

  it('VL-211, section 5 race 11: an older one that goes does not take the newer with it', async () => {
    const { time, registry, reports, last } = await setup();
    await registry.register(of('old'));
    await registry.register(of('new'));
    await time.pass(0);
    const before = reports.length;
    await registry.withdraw('old');
    await time.pass(0);
    expect([reports.length, last()?.AllocID, last()?.Healthy]).toEqual([before, 'new', true]);
  });

  it('VL-219: withdrawing one side leaves the other; VL-252: who asks for what is gone may try elsewhere', async () => {
    const { time, plugins, registry } = await setup();
    await registry.register(of('a', 'controller'));
    await registry.register(of('b'));
    await time.pass(0);
    await registry.withdraw('a');
    expect(plugins.nodePlugin('disks')).toBeDefined();
    expect(() => plugins.controller('disks')).toThrow(/^CSI client error \(retryable\): /);
  });

  it('VL-222: whoever needs a node plugin waits a minute for it', async () => {
    const { time, plugins, registry, pluginOf } = await setup();
    const early = plugins.nodePluginReady('disks', nobody);
    await time.pass(40_000);
    await registry.register(of('a'));
    await time.pass(0);
    expect(await early).toMatchObject({ mountRoot: '/m', pluginRoot: '/p', machine: { ID: 'n1' } });
    await registry.withdraw('a');
    pluginOf('b').probe = () => Promise.reject(new Error('never'));
    await registry.register(of('b'));
    const late = plugins.nodePluginReady('disks', nobody).catch((error: Error) => error.message);
    await time.pass(60_000);
    expect(await late).toBe("csi-node plugin 'disks' did not become ready: it has not come up here within 1m0s");
  });

  it('VL-231: waits no longer than whoever waits', async () => {
    const { plugins } = await setup();
    const leaving = new AbortController();
    const waiting = plugins.nodePluginReady('disks', leaving.signal);
    leaving.abort();
    await expect(waiting).rejects.toThrow('nobody waits for it any more');
  });

  it('VL-231: an agent that ends in the middle of a look says nothing of it', async () => {
    const { time, plugins, registry, reports, pluginOf } = await setup();
    await registry.register(of('a'));
    await time.pass(0);
    const before = reports.length;
    let answer: (isReady: boolean) => void = () => {};
    pluginOf('a').probe = () => new Promise((resolve) => (answer = resolve));
    await time.pass(30_000);
    plugins.stop();
    answer(false);
    await time.pass(60_000);
    expect(reports.slice(before)).toEqual([]);
  });
});
