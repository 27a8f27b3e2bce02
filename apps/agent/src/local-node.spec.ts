import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { LocalNode } from './local-node.js';

describe('the machine as it is now', () => {
  it('VL-217: a report is told unless only its time is new; a change of health or its description is an event, the first report is none', () => {
    const node = new LocalNode(fixtures.aNode());
    let told = 0;
    node.onChange(() => told++);
    const info = fixtures.aNodePlugin({ PluginID: 'disks', Healthy: true, HealthDescription: 'healthy' });
    expect(node.plugin('node', info)).toBeUndefined();
    expect(node.plugin('node', { ...info, UpdateTime: '2030-01-01T00:00:00Z' })).toBeUndefined();
    expect(told).toBe(1);
    expect(node.plugin('node', { ...info, ProviderVersion: '9' })).toBeUndefined();
    expect(node.plugin('node', { ...info, Healthy: false, HealthDescription: 'unhealthy' })).toEqual({
      Subsystem: 'CSI',
      Message: 'unhealthy',
      Details: { plugin: 'disks', type: 'node' },
    });
    expect(told).toBe(3);
    expect(node.current.CSINodePlugins['disks']).toMatchObject({ Healthy: false });
  });

  it('VL-219: the sides of a plugin are apart', () => {
    const node = new LocalNode(fixtures.aNode());
    node.plugin('node', fixtures.aNodePlugin({ PluginID: 'disks' }));
    node.plugin('controller', fixtures.aControllerPlugin({ PluginID: 'disks', Healthy: false }));
    expect(node.current.CSINodePlugins['disks']?.Healthy).toBe(true);
    expect(node.current.CSIControllerPlugins['disks']?.Healthy).toBe(false);
  });
});
