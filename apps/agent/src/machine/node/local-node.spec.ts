import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { DriverFingerprint } from '../../drivers/driver.js';
import { LocalNode } from './local-node.js';
import { describeDriver } from './node-description.js';

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

  const PRINT: DriverFingerprint = { health: 'healthy', description: 'Healthy', attributes: { 'driver.docker': '1' } };
  const report = (node: LocalNode, over: Partial<DriverFingerprint>, nowMs = 0) =>
    node.driver('docker', describeDriver({ ...PRINT, ...over }, nowMs));

  it('AG-22, AG-25: an attribute without a value is none; a driver that is gone takes all of its own along', () => {
    const node = new LocalNode(fixtures.aNode({ Attributes: { 'kernel.name': 'linux' } }));
    report(node, { attributes: { 'driver.docker': '1', 'driver.docker.version': '20', 'driver.docker.os': '' } });
    expect(node.current.Attributes).toEqual({
      'kernel.name': 'linux',
      'driver.docker': '1',
      'driver.docker.version': '20',
    });
    report(node, { health: 'undetected', description: 'not there', attributes: { 'driver.docker': '1' } });
    expect(node.current.Attributes).toEqual({ 'kernel.name': 'linux' });
    expect(node.current.Drivers['docker']).toMatchObject({ Detected: false, Healthy: false, Attributes: {} });
  });

  it('AG-23: a change of a driver’s health or its description is an event, the first report is none', () => {
    const node = new LocalNode(fixtures.aNode());
    let told = 0;
    node.onChange(() => told++);
    expect(report(node, {})).toBeUndefined();
    expect([report(node, {}, 60_000), told]).toEqual([undefined, 1]);
    expect([report(node, { attributes: { 'driver.docker': '1', x: 'y' } }), told]).toEqual([undefined, 2]);
    const gone = { Subsystem: 'Driver', Message: 'no answer', Details: { driver: 'docker' } };
    expect(report(node, { health: 'unhealthy', description: 'no answer' })).toEqual(gone);
    expect(report(node, { health: 'unhealthy', description: 'hangs' })).toMatchObject({ Message: 'hangs' });
    expect(report(node, { description: '' })).toBeUndefined();
  });
});
