import { describe, expect, it } from 'vitest';
import type { CSIVolume, CSIVolumeSpecification } from './csi-volume.js';
import { decodeVolumes } from './csi-volume-shape.js';
import { updatedVolume, volumeUpdateErrors } from './update-csi-volume.js';

const WRITER = { AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };

function specification(over: object = {}): CSIVolumeSpecification {
  const [volume] = decodeVolumes(
    {
      Volumes: [
        { ID: 'data', Name: 'data', ExternalID: 'disk-1', PluginID: 'disks', RequestedCapabilities: [WRITER], ...over },
      ],
    },
    'default',
  );
  if (!volume) throw new Error('no volume');
  return volume;
}

function stored(over: Partial<CSIVolume> = {}): CSIVolume {
  return {
    ...specification(),
    Provider: '',
    ProviderVersion: '',
    ControllerRequired: false,
    AccessMode: '',
    AttachmentMode: '',
    ReadClaims: {},
    WriteClaims: {},
    PastClaims: {},
    ResourceExhausted: null,
    CreateIndex: 1,
    ModifyIndex: 1,
    CreateTime: 1,
    ModifyTime: 1,
    ...over,
  };
}

const claim = {
  AllocationID: 'a',
  NodeID: 'n',
  ExternalNodeID: '',
  Mode: 1 as const,
  ...WRITER,
  State: 0 as const,
};
const IN_USE: Partial<CSIVolume> = { ...WRITER, WriteClaims: { a: claim } };
const topologies = (...racks: string[]) => racks.map((rack) => ({ Segments: { rack } }));
const request = (Required: object[] | null, Preferred: object[] | null = null) => ({
  RequestedTopologies: { Required, Preferred },
});

describe('updating a volume', () => {
  it.each([
    ['VL-27', {}, { Name: 'other' }, ['volume name cannot be updated']],
    ['VL-27', {}, { Name: '' }, []],
    ['VL-27', {}, { ExternalID: 'disk-2' }, ['volume external ID cannot be updated']],
    ['VL-27', {}, { ExternalID: '' }, []],
    ['VL-27', {}, { PluginID: '' }, ['volume plugin ID cannot be updated']],
    ['VL-27', {}, { CloneID: 'c' }, ['volume clone ID cannot be updated']],
    ['VL-27', { SnapshotID: 's' }, { SnapshotID: 't' }, ['volume snapshot ID cannot be updated']],
    ['VL-28', {}, { RequestedCapabilities: [{ AttachmentMode: 'block-device', AccessMode: 'x' }] }, []],
    ['VL-28', IN_USE, { RequestedCapabilities: [WRITER, { AttachmentMode: 'block-device', AccessMode: 'x' }] }, []],
    [
      'VL-28',
      IN_USE,
      { RequestedCapabilities: [{ ...WRITER, AccessMode: 'multi-node-multi-writer' }] },
      ['volume requested capabilities update was not compatible with existing capability in use'],
    ],
    ['VL-30', {}, { MountOptions: { FSType: 'ext4' } }, []],
    ['VL-30', IN_USE, { MountOptions: { FSType: '' } }, []],
    ['VL-30', IN_USE, { MountOptions: { FSType: 'ext4' } }, ['can not update mount options while volume is in use']],
    [
      'VL-30',
      { ...IN_USE, MountOptions: { FSType: '', MountFlags: ['a', 'b'] } },
      { MountOptions: { MountFlags: ['b', 'a', 'a'] } },
      [],
    ],
    ['VL-32', { Parameters: { a: '1' } }, { Parameters: { a: '2' } }, ['volume parameters cannot be updated']],
    ['VL-32', { Parameters: { a: '1' } }, { Parameters: { a: '1' } }, []],
    ['VL-32', { Parameters: { a: '1' } }, {}, []],
  ])('%s: %j with %j', (_, before, given, errors) => {
    expect(volumeUpdateErrors(stored(before), specification(given))).toEqual(errors);
  });

  const ERROR = ['volume topology request update was not compatible with existing topology'];
  it.each([
    ['the same', request(topologies('R1', 'R2')), []],
    ['in another order', request(topologies('R2', 'R1')), ERROR],
    ['one more', request(topologies('R1', 'R2', 'R3')), ERROR],
    ['one less', request(topologies('R1')), ERROR],
    ['with a preferred one', request(topologies('R1', 'R2'), topologies('R1')), ERROR],
    ['none', {}, ERROR],
  ])('VL-29: a volume with topologies asked for %s', (_, given, errors) => {
    const volume = stored({ ...specification(request(topologies('R1', 'R2'))), Topologies: topologies('R1') });
    expect(volumeUpdateErrors(volume, specification(given))).toEqual(errors);
    expect(volumeUpdateErrors({ ...volume, Topologies: null }, specification(given))).toEqual([]);
  });

  it('VL-27: all that is wrong is said together', () => {
    expect(volumeUpdateErrors(stored(), specification({ Name: 'x', ExternalID: 'y', PluginID: 'z' }))).toHaveLength(3);
  });

  it('VL-26, VL-31, VL-33: what may change does, the rest stays', () => {
    const before = stored({ Secrets: { key: 'old' }, Context: { disk: '1' }, Capacity: 7, Parameters: { a: '1' } });
    const after = updatedVolume(before, specification({ Capacity: 9, MountOptions: { FSType: 'xfs' } }));
    const MountOptions = { FSType: 'xfs', MountFlags: null };
    expect(after).toEqual({ ...before, Secrets: null, MountOptions });
    expect(updatedVolume(before, specification({ Context: { disk: '2' } })).Context).toEqual({ disk: '2' });
  });
});
