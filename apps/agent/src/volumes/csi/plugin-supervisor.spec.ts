import { FakeTime, NS_PER_SECOND } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { FakePlugin } from '../../fixtures/fake-plugin.js';
import { PluginRegistry } from './plugin-registry.js';
import { PluginSupervisor } from './plugin-supervisor.js';

function setup(Type = 'monolith', save = async (): Promise<void> => {}) {
  const time = new FakeTime();
  const plugin = new FakePlugin();
  const events: string[] = [];
  const failures: string[] = [];
  let removed = 0;
  const registry = new PluginRegistry({ load: async () => [], save }, silentLogger);
  const supervisor = new PluginSupervisor({
    allocId: 'a',
    config: {
      ID: 'disks',
      Type,
      MountDir: '/csi',
      StagePublishBaseDir: '/local/csi',
      HealthTimeout: 30 * NS_PER_SECOND,
    },
    socketPath: '/s',
    mountRoot: '/m',
    pluginRoot: '/p',
    registry,
    connect: () => plugin.connect(),
    timers: time,
    logger: silentLogger,
    emit: (type, { message }) => events.push(`${type}: ${message}`),
    fail: (reason) => failures.push(reason),
    removeSocket: async () => void removed++,
  });
  const probes = () => plugin.asked.filter((one) => one === 'probe').length;
  return { time, plugin, events, failures, registry, supervisor, probes, removed: () => removed };
}

const unwell = () => Promise.reject(new Error('no disk'));

describe('looking after a plugin', () => {
  it('VL-207, CW-25: probed every 5 s until it is well; too late, the task fails', async () => {
    const { time, plugin, supervisor, probes, events, failures, registry } = setup();
    plugin.probe = unwell;
    supervisor.taskIs(true);
    await time.pass(29_999);
    expect([probes(), failures]).toEqual([6, []]);
    await time.pass(1);
    expect(events).toEqual(['Plugin became unhealthy: Error: CSI plugin failed probe: no disk']);
    expect(failures).toEqual(['CSI plugin did not become healthy before configured 30s health timeout']);
    expect(registry.active()).toEqual([]);
    await time.pass(60_000);
    expect([probes(), failures.length]).toEqual([6, 1]); // until the task has come up again
    supervisor.taskIs(false);
    plugin.probe = async () => true;
    supervisor.taskIs(true);
    await time.pass(0);
    expect(registry.active()).toHaveLength(2);
  });

  it.each([
    ['monolith', ['controller', 'node']],
    ['controller', ['controller']],
    ['node', ['node']],
  ])('VL-208: %s: well, it is asked who it is, and registered as %j', async (type, sides) => {
    const { time, supervisor, events, registry } = setup(type);
    supervisor.taskIs(true);
    await time.pass(0);
    expect(events).toEqual(['Plugin became healthy: plugin: disks']);
    expect(
      registry
        .active()
        .map(({ side }) => side)
        .toSorted(),
    ).toEqual(sides);
    expect(registry.active()[0]).toMatchObject({
      provider: 'provider',
      providerVersion: '2',
      socketPath: '/s',
      pluginRoot: '/p',
    });
  });

  it('VL-210: one that is dead before both of its sides are written down is withdrawn as a whole', async () => {
    let written = (): void => {};
    const { time, supervisor, registry } = setup('monolith', () => new Promise((resolve) => (written = resolve)));
    supervisor.taskIs(true);
    await time.pass(0);
    expect(registry.active()).toHaveLength(1);
    const stopped = supervisor.stop();
    for (let at = 0; at < 3; at++) {
      written();
      await time.pass(0);
    }
    await stopped;
    expect(registry.active()).toEqual([]);
  });

  it('VL-208: one that cannot say who it is fails', async () => {
    const { time, plugin, supervisor, failures, registry } = setup();
    plugin.info = () => Promise.reject(new Error('nobody'));
    supervisor.taskIs(true);
    await time.pass(60_000);
    expect(failures).toEqual(['CSI plugin could not be registered: nobody']);
    expect(registry.active()).toEqual([]);
  });

  it('VL-209, CW-25: then every 30 s; a change is one event in each direction, and restarts nothing', async () => {
    const { time, plugin, supervisor, events, failures, probes } = setup();
    supervisor.taskIs(true);
    await time.pass(90_000);
    expect(probes()).toBe(4);
    plugin.probe = unwell;
    await time.pass(90_000);
    plugin.probe = async () => true;
    await time.pass(60_000);
    plugin.probe = async () => false;
    await time.pass(60_000);
    expect(events.slice(1)).toEqual([
      'Plugin became unhealthy: Error: no disk',
      'Plugin became healthy: plugin: disks',
      'Plugin became unhealthy: Unknown Reason',
    ]);
    expect(failures).toEqual([]);
  });

  it('VL-209: one that was killed is unwell at once, and well with its first good answer', async () => {
    const { time, plugin, supervisor, events, failures, registry } = setup();
    const told: string[] = [];
    registry.onHealth((allocId) => told.push(allocId));
    supervisor.taskIs(true);
    await time.pass(1_000);
    plugin.probe = unwell;
    supervisor.taskIs(false);
    await time.pass(0);
    expect(events.slice(1)).toEqual(['Plugin became unhealthy: Error: the task of the plugin does not run']);
    await time.pass(15_000);
    supervisor.taskIs(true);
    await time.pass(2_000);
    plugin.probe = async () => true;
    await time.pass(3_000);
    expect(events.slice(2)).toEqual(['Plugin became healthy: plugin: disks']);
    expect([told, failures]).toEqual([['a', 'a'], []]);
  });

  it('VL-209: an answer from before it was killed does not count', async () => {
    const { time, plugin, supervisor, events } = setup();
    supervisor.taskIs(true);
    await time.pass(0);
    let answer: (isReady: boolean) => void = () => {};
    plugin.probe = () => new Promise((resolve) => (answer = resolve));
    await time.pass(30_000);
    plugin.probe = unwell;
    supervisor.taskIs(false);
    answer(true);
    await time.pass(0);
    expect(events.slice(1)).toEqual(['Plugin became unhealthy: Error: the task of the plugin does not run']);
  });

  it('VL-209: one that is unwell is probed every 5 s', async () => {
    const { time, plugin, supervisor, events, probes } = setup();
    supervisor.taskIs(true);
    await time.pass(0);
    plugin.probe = unwell;
    await time.pass(30_000);
    const before = probes();
    await time.pass(15_000);
    expect(probes() - before).toBe(3);
    plugin.probe = async () => true;
    await time.pass(5_000);
    expect(events.at(-1)).toBe('Plugin became healthy: plugin: disks');
  });

  it('VL-210: one loop, also across restarts of the task and probes that hang', async () => {
    const { time, plugin, supervisor, probes } = setup();
    const hanging: (() => void)[] = [];
    plugin.probe = () => new Promise((resolve) => hanging.push(() => resolve(true)));
    for (let i = 0; i < 5; i++) {
      supervisor.taskIs(true);
      supervisor.taskIs(false);
    }
    plugin.probe = async () => true;
    supervisor.taskIs(true);
    for (const answer of hanging) answer();
    await time.pass(0);
    const before = probes();
    await time.pass(300_000);
    expect(probes() - before).toBe(10);
    for (const up of [false, true, false, true]) supervisor.taskIs(up);
    await time.pass(0);
    const after = probes();
    await time.pass(300_000);
    expect(probes() - after).toBe(10);
  });

  it('VL-210: at its end it is withdrawn and its socket removed, also when it was never well', async () => {
    const { time, supervisor, registry, removed, probes, plugin } = setup();
    supervisor.taskIs(true);
    await time.pass(0);
    await supervisor.stop();
    await time.pass(300_000);
    expect([registry.active(), removed(), probes(), plugin.closed]).toEqual([[], 1, 1, 1]);
    const never = setup();
    await never.supervisor.stop();
    expect(never.removed()).toBe(1);
  });
});
