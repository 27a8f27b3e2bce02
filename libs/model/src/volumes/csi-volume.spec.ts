import { describe, expect, it } from 'vitest';
import type { CSIPlugin } from './csi-plugin.js';
import { type CSIVolume, isReadSchedulable, isWriteSchedulable } from './csi-volume.js';
import { decodeVolumes } from './csi-volume-shape.js';
import { claimHoldersOf, encodeCSIVolume, encodeCSIVolumeStub } from '../encoding/encode-csi-volume.js';
import { validateVolume } from './validate-csi-volume.js';
import { volumeSource } from '../jobs/volume.js';

const given = (volume: object) => decodeVolumes({ Volumes: [volume] }, 'default');
const claim = {
  AllocationID: 'a',
  NodeID: 'n',
  ExternalNodeID: '',
  Mode: 1 as const,
  AccessMode: '',
  AttachmentMode: '',
  State: 0 as const,
};

function volume(over: Partial<CSIVolume> = {}): CSIVolume {
  const [specification] = given({ ID: 'data', Name: 'data', PluginID: 'disks' });
  if (!specification) throw new Error('no volume');
  return {
    ...specification,
    Provider: 'stored.example',
    ProviderVersion: '1',
    ControllerRequired: true,
    AccessMode: '',
    AttachmentMode: '',
    ReadClaims: {},
    WriteClaims: {},
    PastClaims: {},
    ResourceExhausted: null,
    CreateIndex: 1,
    ModifyIndex: 2,
    CreateTime: 3,
    ModifyTime: 4,
    ...over,
  };
}

const plugin = (over: Partial<CSIPlugin> = {}): CSIPlugin => ({
  ID: 'disks',
  Provider: 'current.example',
  Version: '2',
  ControllerRequired: false,
  Controllers: {},
  Nodes: {},
  ControllerJobs: {},
  NodeJobs: {},
  ControllersHealthy: 1,
  ControllersExpected: 2,
  NodesHealthy: 3,
  NodesExpected: 4,
  CreateIndex: 0,
  ModifyIndex: 0,
  CreateTime: 0,
  ModifyTime: 0,
  ...over,
});

describe('what a client says of a volume', () => {
  it('VL-17, VL-22: what the server owns is ignored, what the disk is like is kept', () => {
    const [decoded] = given({
      ID: 'data',
      AccessMode: 'bogus',
      AttachmentMode: 'bogus',
      ReadAllocs: { a: null },
      WriteAllocs: { a: null },
      Schedulable: true,
      ControllerRequired: true,
      ModifyIndex: 9,
      Capacity: 5,
      Context: { disk: '1' },
      Topologies: [{ Segments: { rack: 'R1' } }],
    });
    expect(decoded).toMatchObject({ Capacity: 5, Context: { disk: '1' }, Topologies: [{ Segments: { rack: 'R1' } }] });
    for (const member of [
      'AccessMode',
      'ReadAllocs',
      'WriteAllocs',
      'Schedulable',
      'ControllerRequired',
      'ModifyIndex',
    ])
      expect(decoded).not.toHaveProperty(member);
  });

  it("VL-10: its own namespace goes before the request's", () => {
    expect(given({ ID: 'a' })[0]?.Namespace).toBe('default');
    expect(given({ ID: 'a', Namespace: 'team' })[0]?.Namespace).toBe('team');
    expect(decodeVolumes({}, 'default')).toEqual([]);
  });

  it('API-220, VL-11: all that is missing is said in one message, in order', () => {
    const topology = { Required: [{ Segments: {} }, {}], Preferred: [{}] };
    const [bad] = decodeVolumes({ Volumes: [{ SnapshotID: 's', CloneID: 'c', RequestedTopologies: topology }] }, '');
    expect(bad && validateVolume(bad)).toBe(
      'validation: missing volume id, missing plugin id, missing namespace, only one of snapshot_id and clone_id is allowed, must include at least one capability block, required topology is missing segments field, required topology is missing segments field, preferred topology is missing segments field',
    );
    const [good] = given({ ID: 'a', PluginID: 'p', RequestedCapabilities: [{}] });
    expect(good && validateVolume(good)).toBe('');
  });
});

describe('what clients see of a volume', () => {
  it('API-21, API-626, VL-1, VL-2, VL-3: neither secrets, flags nor claims, and the volume keeps them', () => {
    const stored = volume({
      Secrets: { key: 'secret' },
      MountOptions: { FSType: 'ext4', MountFlags: ['password=secret'] },
      ReadClaims: { a: claim },
      PastClaims: { b: claim },
    });
    const before = structuredClone(stored);
    const seen = encodeCSIVolume(stored, undefined);
    expect(JSON.stringify(seen)).not.toContain('password');
    expect(seen).toMatchObject({
      Secrets: null,
      MountOptions: { FSType: 'ext4', MountFlags: ['[REDACTED]'] },
      ReadAllocs: { a: null },
      WriteAllocs: {},
    });
    for (const claims of ['ReadClaims', 'WriteClaims', 'PastClaims']) expect(seen).not.toHaveProperty(claims);
    expect(stored).toEqual(before);
  });

  it('VL-2: nothing given reads back as empty, not as null', () => {
    expect(encodeCSIVolume(volume(), undefined)).toMatchObject({
      MountOptions: { FSType: '', MountFlags: null },
      Topologies: [],
      RequestedTopologies: null,
      Parameters: {},
      Context: {},
      Allocations: [],
      ResourceExhausted: null,
    });
  });

  it('VL-64, VL-65: of its plugin what is so now; without one what was stored, unhealthy', () => {
    expect(encodeCSIVolume(volume(), plugin())).toMatchObject({
      Schedulable: true,
      Provider: 'current.example',
      ProviderVersion: '2',
      ControllerRequired: false,
      ControllersHealthy: 1,
      ControllersExpected: 2,
      NodesHealthy: 3,
      NodesExpected: 4,
    });
    expect(encodeCSIVolumeStub(volume(), undefined)).toMatchObject({
      Schedulable: false,
      Provider: 'stored.example',
      ControllerRequired: true,
      ControllersHealthy: 0,
      NodesHealthy: 0,
    });
  });

  it('2.2: a stub has these members and no others', () => {
    const stub = encodeCSIVolumeStub(
      volume({ ReadClaims: { a: claim, b: claim }, WriteClaims: { c: claim } }),
      plugin(),
    );
    expect(stub).toMatchObject({ CurrentReaders: 2, CurrentWriters: 1 });
    expect(Object.keys(stub).toSorted()).toEqual([
      'AccessMode',
      'AttachmentMode',
      'ControllerRequired',
      'ControllersExpected',
      'ControllersHealthy',
      'CreateIndex',
      'CreateTime',
      'CurrentReaders',
      'CurrentWriters',
      'ExternalID',
      'ID',
      'ModifyIndex',
      'ModifyTime',
      'Name',
      'Namespace',
      'NodesExpected',
      'NodesHealthy',
      'PluginID',
      'Provider',
      'ResourceExhausted',
      'Schedulable',
      'Topologies',
    ]);
  });

  it('2.1: who holds claims, readers first, each once', () => {
    expect(claimHoldersOf({ ReadClaims: { b: claim, c: claim }, WriteClaims: { a: claim, b: claim } })).toEqual([
      'b',
      'c',
      'a',
    ]);
  });
});

describe('whether a volume can be used', () => {
  it.each([
    [plugin(), true],
    [plugin({ NodesHealthy: 0 }), false],
    [plugin({ ControllersHealthy: 0 }), true],
    [plugin({ ControllerRequired: true }), true],
    [plugin({ ControllerRequired: true, ControllersHealthy: 0 }), false],
    [undefined, false],
  ])('VL-63, VL-66: %j → %s', (of, isSchedulable) => {
    expect(encodeCSIVolume(volume(), of).Schedulable).toBe(isSchedulable);
    expect(isReadSchedulable(volume(), of)).toBe(isSchedulable);
    expect(isReadSchedulable(volume({ ResourceExhausted: '2026-01-01T00:00:00Z' }), of)).toBe(false);
  });

  const offers = (...modes: string[]) => modes.map((AccessMode) => ({ AccessMode, AttachmentMode: 'file-system' }));
  it.each([
    ['', offers('multi-node-reader-only', 'multi-node-single-writer'), true],
    ['', offers('multi-node-reader-only', 'single-node-reader-only'), false],
    ['multi-node-reader-only', offers('multi-node-single-writer'), false],
    ['single-node-writer', [], true],
    ['multi-node-multi-writer', [], true],
  ])('VL-67: in mode %j with %j writers are let in: %s', (AccessMode, RequestedCapabilities, isWritable) => {
    expect(isWriteSchedulable(volume({ AccessMode, RequestedCapabilities }), plugin())).toBe(isWritable);
  });
});

it.each([
  [true, 'web.db[3]', 'data[3]'],
  [true, 'a[1].b[12]', 'data[12]'],
  [false, 'web.db[3]', 'data'],
])('VL-178: per_alloc %s of %s uses %s', (PerAlloc, name, source) => {
  expect(volumeSource({ Source: 'data', PerAlloc }, name)).toBe(source);
});
