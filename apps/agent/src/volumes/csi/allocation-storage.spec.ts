import { FakeTime } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { LocalNode } from '../../machine/node/local-node.js';
import { AllocationStorage } from './allocation-storage.js';
import type { AllocationVolumesRecord } from './allocation-volumes.js';
import { CsiHost } from './csi-host.js';
import type { LeftMount } from './left-mounts.js';

const time = new FakeTime();
const refuse = () => Promise.reject(new Error('nobody asks for it here'));

const host = (left: LeftMount[] = []): CsiHost =>
  new CsiHost({
    csiDir: '/csi',
    region: 'global',
    registrations: { load: async () => [], save: async () => {} },
    leftMounts: { load: async () => [], save: async (all) => void left.splice(0, left.length, ...all) },
    places: {
      isMounted: async () => false,
      exists: async () => false,
      make: refuse,
      remove: refuse,
      removeSocket: refuse,
      removeEmpty: refuse,
    },
    claims: { claim: refuse, unpublish: async () => {} },
    node: new LocalNode(fixtures.aNode()),
    emit: () => {},
    clock: time,
    timers: time,
    logger: silentLogger,
  });

function storage(csi: CsiHost, restored: AllocationVolumesRecord = {}): AllocationStorage {
  const made = new AllocationStorage({
    csi,
    alloc: fixtures.anAlloc({ ID: 'a' }),
    group: fixtures.aGroup({ Volumes: { data: fixtures.aVolumeRequest() } }),
    drivers: new Map(),
    timers: time,
    logger: silentLogger,
    owner: { waitsFor: () => {}, emit: () => {}, failTask: () => {}, save: async () => {} },
  });
  made.restore(restored);
  return made;
}

it('VL-232: what is still mounted when an allocation is dropped is on the list of the machine by then', async () => {
  const left: LeftMount[] = [];
  const csi = host(left);
  const VolumeID = 'data';
  const MountInfo = { Source: '/csi/published', IsDevice: false };
  const of = { VolumeID, VolumeNamespace: 'default', VolumeExternalID: 'disk', PluginID: 'disks', ExternalNodeID: 'n' };
  await storage(csi, { data: { ...of, MountInfo } }).end();
  expect(left).toMatchObject([{ pluginId: 'disks', volume: { allocId: 'a', volumeId: 'data', externalId: 'disk' } }]);
  csi.stop();
});

describe('an allocation that is wanted again while it leaves', () => {
  it('AG-402: the end of its old storage is not that of the new one', async () => {
    const csi = host();
    const leaving = storage(csi);
    const coming = storage(csi);
    await leaving.end();
    // A closed storage does not report what it lacks, because nothing may follow.
    await expect(coming.prepare()).rejects.toThrow('no task supports CSI');
    await coming.end();
    expect(await coming.prepare()).toBe(false);
  });
});
