import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { type PluginRegistration, PluginRegistry } from './plugin-registry.js';

const registration = (allocId: string, over: Partial<PluginRegistration> = {}): PluginRegistration => ({
  side: 'node',
  pluginId: 'disks',
  allocId,
  socketPath: `/s/${allocId}`,
  provider: 'p',
  providerVersion: '1',
  mountRoot: '/m',
  pluginRoot: '/m',
  ...over,
});

function setup(stored: readonly PluginRegistration[] | Error = []) {
  let saved: readonly PluginRegistration[] = [];
  const registry = new PluginRegistry(
    {
      load: async () => {
        if (stored instanceof Error) throw stored;
        return stored;
      },
      save: async (all) => void (saved = [...all]),
    },
    silentLogger,
  );
  const active = () => registry.active().map(({ side, pluginId, allocId }) => `${side}/${pluginId}/${allocId}`);
  return { registry, active, saved: () => saved };
}

describe('the plugins of a machine', () => {
  it('VL-211: the newest is active; withdrawing an older one disturbs nobody, withdrawing the active one falls back', async () => {
    const { registry, active } = setup();
    for (const allocId of ['a', 'b', 'c']) await registry.register(registration(allocId));
    expect(active()).toEqual(['node/disks/c']);
    await registry.withdraw('a');
    expect(active()).toEqual(['node/disks/c']);
    await registry.withdraw('c');
    expect(active()).toEqual(['node/disks/b']);
    await registry.withdraw('b');
    expect(active()).toEqual([]);
  });

  it('VL-219: the sides of a plugin, and plugins, are independent', async () => {
    const { registry, active } = setup();
    await registry.register(registration('a'));
    await registry.register(registration('a', { side: 'controller' }));
    await registry.register(registration('b', { pluginId: 'tapes' }));
    expect(active().toSorted()).toEqual(['controller/disks/a', 'node/disks/a', 'node/tapes/b']);
    await registry.withdraw('b');
    expect(active().toSorted()).toEqual(['controller/disks/a', 'node/disks/a']);
  });

  it('VL-211: one that registers again keeps its place; VL-210: withdrawing nothing is no error', async () => {
    const { registry, active } = setup();
    await registry.register(registration('old'));
    await registry.register(registration('new'));
    await registry.register(registration('old', { socketPath: '/elsewhere' }));
    await registry.withdraw('never');
    expect(active()).toEqual(['node/disks/new']);
  });

  it('VL-211, VL-206: is on disk after each change, and goes on from there', async () => {
    const first = setup();
    await first.registry.register(registration('a'));
    await first.registry.register(registration('b'));
    const second = setup(first.saved());
    await second.registry.restore();
    expect(second.active()).toEqual(['node/disks/b']);
    expect(second.registry.ofAlloc('a')?.socketPath).toBe('/s/a');
    const broken = setup(new Error('not JSON'));
    await broken.registry.restore();
    expect(broken.active()).toEqual([]);
  });
});
