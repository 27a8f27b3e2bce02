import type { Allocation, CSIInfo, CSIPlugin, CSIVolume, Node, VolumeRequest } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { CsiVolumeCheck } from './csi-volume-check.js';

const { aCSIClaim, aCSIPlugin, aCSIVolume, aNodePlugin, aVolumeRequest, uuid } = fixtures;
const NODE = uuid(0x77);

interface World {
  readonly volumes?: CSIVolume[];
  readonly plugin?: Partial<CSIPlugin> | null;
  readonly onNode?: Allocation[];
  readonly stored?: Allocation[];
}

/** The check for job `web` over these volumes, and a healthy plugin `disks`. */
function checking({ volumes = [aCSIVolume()], plugin = {}, onNode = [], stored = [] }: World) {
  const { tables } = fixtures.aMachine();
  for (const volume of volumes) tables.csi_volumes.replace(`${volume.Namespace}/${volume.ID}`, volume);
  if (plugin) tables.csi_plugins.replace('disks', aCSIPlugin(plugin));
  for (const alloc of stored) tables.allocs.replace(alloc.ID, alloc);
  const check = new CsiVolumeCheck({ Namespace: 'default', ID: 'web' }, tables, { proposed: () => onNode });
  const whyNot = (requests: Partial<VolumeRequest>[] = [{}], node = nodeWith(aNodePlugin()), name = 'web.web[0]') =>
    check.whyNot(node, 'web', requests.map(aVolumeRequest), name);
  return { check, tables, whyNot };
}

const nodeWith = (disks: CSIInfo | undefined): Node =>
  fixtures.aNode({ ID: NODE, CSINodePlugins: disks ? { disks } : {} });
const pluginWith = (over: Partial<NonNullable<CSIInfo['NodeInfo']>>): CSIInfo => {
  const plugin = aNodePlugin();
  return { ...plugin, NodeInfo: { ...plugin.NodeInfo!, ...over } };
};

it('SC-75, VL-161: missing volumes are named in order, and waited for', () => {
  const { check, whyNot } = checking({ volumes: [aCSIVolume(), aCSIVolume({ ID: 'other', Namespace: 'team' })] });
  expect(whyNot([{ Source: 'z' }, { Source: 'data' }, { Source: 'other' }])).toBe('missing CSI volume(s) other, z');
  expect(whyNot([{ Source: 'data', PerAlloc: true }], nodeWith(aNodePlugin()), 'web.web[3]')).toBe(
    'missing CSI volume(s) data[3]',
  );
  expect(check.waitsFor('web')).toEqual([
    'csi-volume:default:data[3]',
    'csi-volume:default:other',
    'csi-volume:default:z',
  ]);
  expect(check.waitsFor('beside')).toEqual([]);
});

it('SC-76: every volume is looked at, also after one that can be had', () => {
  const volumes = [aCSIVolume(), aCSIVolume({ ID: 'slow', PluginID: 'tapes' })];
  const { whyNot } = checking({ volumes });
  expect(whyNot([{}, { Source: 'slow' }])).toBe(`CSI plugin tapes is missing from client ${NODE}`);
});

describe('the plugin on the node (SC-76)', () => {
  it.each([
    ['is missing from', undefined],
    ['is unhealthy on', aNodePlugin({ Healthy: false })],
  ])('%s it', (what, plugin) => {
    const { check, whyNot } = checking({});
    expect(whyNot([{}], nodeWith(plugin))).toBe(`CSI plugin disks ${what} client ${NODE}`);
    expect(check.waitsFor('web')).toEqual([]);
  });

  const asking = (over: Partial<VolumeRequest>, alloc: Partial<Allocation> = {}): Allocation => {
    const Volumes = { data: aVolumeRequest(over) };
    const Job = fixtures.aJob({ ID: 'other', TaskGroups: [fixtures.aGroup({ Volumes })] });
    return fixtures.anAlloc({ Job, ...alloc });
  };
  const FULL = `CSI plugin disks has the maximum number of volumes on client ${NODE}`;
  const volumes = [
    aCSIVolume(),
    aCSIVolume({ ID: 'a' }),
    aCSIVolume({ ID: 'b' }),
    aCSIVolume({ ID: 'slow', PluginID: 'tapes' }),
    aCSIVolume({ ID: 'a', Namespace: 'team' }),
  ];

  it.each<[string, number, Allocation[], string | undefined]>([
    ['none in use', 1, [], undefined],
    ['one in use', 1, [asking({ Source: 'a' })], FULL],
    ['one of two in use', 2, [asking({ Source: 'a' })], undefined],
    ['two in use', 2, [asking({ Source: 'a' }), asking({ Source: 'b' })], FULL],
    ['one volume in use twice', 2, [asking({ Source: 'a' }), asking({ Source: 'a' })], undefined],
    ['volumes of two namespaces', 2, [asking({ Source: 'a' }), asking({ Source: 'a' }, { Namespace: 'team' })], FULL],
    ['a volume of another plugin', 1, [asking({ Source: 'slow' })], undefined],
    ['a volume that is not stored', 1, [asking({ Source: 'gone' })], undefined],
    ['a host volume of the same name', 1, [asking({ Source: 'a', Type: 'host' })], undefined],
    ['without a limit', Number.MAX_SAFE_INTEGER, [asking({ Source: 'a' })], undefined],
  ])('VL-164: has a limit of volumes: %s', (_, MaxVolumes, onNode, reason) => {
    expect(checking({ volumes, onNode }).whyNot([{}], nodeWith(pluginWith({ MaxVolumes })))).toBe(reason);
  });

  it('VL-164: an allocation without its job asks for the volumes of the stored job', () => {
    const alloc = asking({ Source: 'a' });
    const { tables, whyNot } = checking({ volumes, onNode: [{ ...alloc, Job: null }] });
    const full = nodeWith(pluginWith({ MaxVolumes: 1 }));
    expect(whyNot([{}], full)).toBeUndefined();
    tables.jobs.replace('default/other', alloc.Job!);
    expect(whyNot([{}], full)).toBe(FULL);
  });

  it.each([
    ['any', null, null, true],
    ['none of none', [], null, true],
    ['an unknown one', [{ zone: 'a' }], null, false],
    ['its own', [{ zone: 'a' }], { Zone: 'a', rack: '1' }, true],
    ['another', [{ zone: 'a' }], { zone: 'b' }, false],
    ['the second', [{ zone: 'a' }, { zone: 'b' }], { zone: 'b' }, true],
    ['one of which a segment differs', [{ zone: 'a', rack: '1' }], { zone: 'a', rack: '2' }, false],
    ['one without segments', [null], { zone: 'a' }, true],
  ])('VL-165, CW-12: reaches a volume by its topology: %s', (_, wanted, Segments, reaches) => {
    const Topologies = wanted && wanted.map((segments) => ({ Segments: segments }));
    const AccessibleTopology = Segments && { Segments };
    const { whyNot } = checking({ volumes: [aCSIVolume({ Topologies } as Partial<CSIVolume>)] });
    expect(whyNot([{}], nodeWith(pluginWith({ AccessibleTopology })))).toBe(
      reaches ? undefined : 'did not meet topology requirement',
    );
  });

  it('a plugin that says nothing of its node has no limit, and reaches volumes without topology', () => {
    const plugin = aNodePlugin({ NodeInfo: undefined });
    expect(checking({}).whyNot([{}], nodeWith(plugin))).toBeUndefined();
    const Topologies = [{ Segments: { zone: 'a' } }];
    expect(checking({ volumes: [aCSIVolume({ Topologies })] }).whyNot([{}], nodeWith(plugin))).toBe(
      'did not meet topology requirement',
    );
  });
});

describe('the access to the volume', () => {
  const unreadable = 'CSI volume data is unschedulable or has exhausted its available reader claims';
  const unwritable = 'CSI volume data is unschedulable or is read-only';
  const exhausted = 'CSI volume data has exhausted its available writer claims';
  const taken = (...AllocationIDs: string[]): CSIVolume =>
    aCSIVolume({
      AccessMode: 'single-node-writer',
      WriteClaims: Object.fromEntries(AllocationIDs.map((AllocationID) => [AllocationID, aCSIClaim({ AllocationID })])),
    });
  const writer = (ID: string, over: Partial<Allocation> = {}): Allocation => fixtures.anAlloc({ ID, ...over });

  it.each<[string, Partial<VolumeRequest>, World, string | undefined]>([
    ['SC-77: read', { ReadOnly: true }, {}, undefined],
    ['SC-77: read without a plugin', { ReadOnly: true }, { plugin: null }, unreadable],
    ['SC-77: read, exhausted', { ReadOnly: true }, { volumes: [aCSIVolume({ ResourceExhausted: 'now' })] }, unreadable],
    ['SC-77: read what others write', { ReadOnly: true }, { volumes: [taken('a')] }, undefined],
    ['SC-78: write', {}, {}, undefined],
    ['SC-78: write without healthy nodes', {}, { plugin: { NodesHealthy: 0 } }, unwritable],
    ['SC-78: write what is read', {}, { volumes: [aCSIVolume({ AccessMode: 'multi-node-reader-only' })] }, unwritable],
    [
      'SC-79: taken by another job',
      {},
      { volumes: [taken('a')], stored: [writer('a', { JobID: 'other' })] },
      exhausted,
    ],
    [
      'SC-79: taken in another namespace',
      {},
      { volumes: [taken('a')], stored: [writer('a', { Namespace: 'team' })] },
      exhausted,
    ],
    [
      'SC-80: written by many',
      {},
      {
        volumes: [{ ...taken('a'), AccessMode: 'multi-node-multi-writer' }],
        stored: [writer('a', { JobID: 'other' })],
      },
      undefined,
    ],
    ['SC-79: taken by the job itself', {}, { volumes: [taken('a')], stored: [writer('a')] }, undefined],
    [
      'SC-79: taken by the job itself and another one',
      {},
      { volumes: [taken('a', 'b')], stored: [writer('a'), writer('b', { JobID: 'other' })] },
      exhausted,
    ],
    [
      'SC-79: taken by allocations that are gone: the first is named',
      {},
      { volumes: [taken('b', 'a')] },
      `${exhausted} and is claimed by a garbage collected allocation a; waiting for claim to be released`,
    ],
  ])('%s', (_, request, world, reason) => {
    const { check, whyNot } = checking(world);
    expect(whyNot([request])).toBe(reason);
    expect(check.waitsFor('web')).toEqual(reason === undefined ? [] : ['csi-volume:default:data']);
  });
});
