import { describe, expect, it } from 'vitest';
import type { CSIVolumeSpecification, Node } from '@waybill/model';
import { fixtures } from '../fixtures.js';
import { volumeRegistrations } from './volume-registration.js';

const { aControllerPlugin, aMachine, aNode, aNodePlugin, apply, aVolumeRegistration, uuid } = fixtures;

/** What comes of registering these where a node reports these plugins. */
function registering(reports: Partial<Node>, ...volumes: CSIVolumeSpecification[]) {
  const machine = aMachine();
  apply(machine, 'NodeRegister', { Node: aNode({ ID: uuid(1), ...reports }), CreateNodePool: false });
  return () => volumeRegistrations(machine.tables, volumes);
}
const NODE_ONLY = { CSINodePlugins: { disks: aNodePlugin({ ProviderVersion: '2.0' }) } };

describe('volumes to be registered', () => {
  it('VL-9, VL-11, VL-12, VL-13: refused in this order', () => {
    const bad = aVolumeRegistration({ ID: '', Namespace: 'gone', PluginID: 'nobody' });
    expect(registering({})).toThrow('missing volume definition');
    expect(registering({}, bad)).toThrow('validation: missing volume id');
    expect(registering({}, { ...bad, ID: 'data' })).toThrow('volume data is in nonexistent namespace gone');
    expect(registering({}, { ...bad, ID: 'data', Namespace: 'default' })).toThrow(
      'no CSI plugin named: nobody could be found',
    );
  });

  it('VL-14: a plugin that needs a controller must have a healthy one', () => {
    const healthy = { CSIControllerPlugins: { disks: aControllerPlugin() }, ...NODE_ONLY };
    expect(registering(healthy, aVolumeRegistration())).not.toThrow();
    const machine = aMachine();
    for (const Healthy of [true, false]) {
      const CSIControllerPlugins = { disks: aControllerPlugin({ Healthy }) };
      apply(machine, 'NodeRegister', { Node: aNode({ ID: uuid(1), CSIControllerPlugins }), CreateNodePool: false });
    }
    const register = () => volumeRegistrations(machine.tables, [aVolumeRegistration()]);
    expect(register).toThrow('no healthy controllers for CSI plugin: disks');
    expect(registering(NODE_ONLY, aVolumeRegistration())).not.toThrow();
  });

  it('VL-15: provider, version and the need of a controller are those of the plugin', () => {
    const given = aVolumeRegistration({ Provider: 'bogus', ProviderVersion: '0', ControllerRequired: true });
    expect(registering(NODE_ONLY, given)()).toEqual([
      { ...given, Provider: 'disks.example', ProviderVersion: '2.0', ControllerRequired: false },
    ]);
  });

  it('VL-16: one that is refused keeps the others out', () => {
    const volumes = [aVolumeRegistration(), aVolumeRegistration({ PluginID: 'nobody' })];
    expect(registering(NODE_ONLY, ...volumes)).toThrow('no CSI plugin named: nobody could be found');
  });
});
