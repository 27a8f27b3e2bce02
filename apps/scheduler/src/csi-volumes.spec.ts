import {
  CLAIM_STATE,
  type CSINodeInfo,
  type CSIVolumeClaim,
  type CSIVolumeRegistration,
  type Job,
  type Node,
  type TaskGroup,
  type VolumeRequest,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { SchedulingFixture } from './scheduling.fixture.js';

/** Where allocations with CSI volumes may go (VL 3.16). */

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const { aCSIClaim, aGroup, aJob, aNodePlugin, aVolumeRegistration, aVolumeRequest, uuid } = fixtures;
const MULTI = 'multi-node-multi-writer';

const jobOf = (request: Partial<VolumeRequest> = {}, group: Partial<TaskGroup> = {}, over: Partial<Job> = {}): Job =>
  aJob({ TaskGroups: [aGroup({ Volumes: { data: aVolumeRequest(request) }, ...group })], ...over });
const info = (over: Partial<CSINodeInfo>) => {
  const { NodeInfo, ...rest } = aNodePlugin();
  if (!NodeInfo) throw new Error('a node plugin has node info');
  return { ...rest, NodeInfo: { ...NodeInfo, ...over } };
};
/** A machine on which the plugin runs, healthy unless said otherwise. */
const machine = (plugin = aNodePlugin(), over: Partial<Node> = {}) =>
  world.addNode({ CSINodePlugins: { disks: plugin }, ...over });
const volume = (over: Partial<CSIVolumeRegistration> = {}) =>
  fixtures.apply(world.state, 'CSIVolumeRegister', { Volumes: [aVolumeRegistration(over)] });
const claim = (over: Partial<CSIVolumeClaim>, VolumeID = 'data') => {
  const { verdict } = fixtures.apply(
    world.state,
    'CSIVolumeClaim',
    { VolumeID, Claim: aCSIClaim(over) },
    { namespace: 'default' },
  );
  if (verdict.kind === 'refused') throw new Error(verdict.error);
};
/** Why the one group could not be placed; undefined: it was. */
const whyNot = (job: Job): string[] | undefined => {
  world.register(job);
  const failed = world.run({ JobID: job.ID }).failedGroups['web'];
  return failed && Object.keys(failed.ConstraintFiltered ?? {});
};
/** Another job with an allocation that holds the one write claim of `data`. */
const takenByAnotherJob = (): string => {
  world.register(jobOf({}, {}, { ID: 'other' }));
  world.run({ JobID: 'other' });
  const holder = world.allocs()[0]?.ID ?? '';
  claim({ AllocationID: holder });
  return holder;
};

describe('volumes that are there', () => {
  it('VL-160, SC-75: a missing one keeps every node out, all missing ones are named, in order', () => {
    machine();
    const Volumes = {
      a: aVolumeRequest({ Source: 'zeta' }),
      b: aVolumeRequest({ Source: 'data' }),
      c: aVolumeRequest({ Source: 'beta' }),
    };
    volume();
    world.register(jobOf({}, { Volumes }));
    const { failedGroups, blocked } = world.run();
    expect(failedGroups['web']?.ConstraintFiltered).toEqual({ 'missing CSI volume(s) beta, zeta': 1 });
    expect(blocked).toMatchObject([
      { escaped: true, missingResources: ['csi-volume:default:beta', 'csi-volume:default:zeta'] },
    ]);
  });

  it("VL-159: looked up in the job's namespace", () => {
    machine();
    fixtures.apply(world.state, 'NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    volume({ Namespace: 'team' });
    expect(whyNot(jobOf())).toEqual(['missing CSI volume(s) data']);
  });

  it('VL-162: what one node of a class cannot do another one can', () => {
    machine(aNodePlugin({ Healthy: false }));
    const { ID } = machine();
    volume();
    expect(whyNot(jobOf())).toBeUndefined();
    expect(world.allocs().map(({ NodeID }) => NodeID)).toEqual([ID]);
  });
});

describe('the plugin on the node', () => {
  const NODE = uuid(0x77);
  it.each([
    ['is missing from', {}],
    ['is unhealthy on', { disks: aNodePlugin({ Healthy: false }) }],
    ['has the maximum number of volumes on', { disks: info({ MaxVolumes: 0 }) }],
  ])('VL-163, SC-76: one that %s client', (what, CSINodePlugins) => {
    volume();
    world.addNode({ ID: NODE, CSINodePlugins });
    expect(whyNot(jobOf())).toEqual([`CSI plugin disks ${what} client ${NODE}`]);
  });

  it('VL-163: every volume is looked at, also after one that can be had', () => {
    world.addNode({ ID: NODE, CSINodePlugins: { disks: aNodePlugin() } });
    volume({ ID: 'first' });
    volume({ ID: 'second', PluginID: 'two' });
    const Volumes = { a: aVolumeRequest({ Source: 'first' }), b: aVolumeRequest({ Source: 'second' }) };
    expect(whyNot(jobOf({}, { Volumes }))).toEqual([`CSI plugin two is missing from client ${NODE}`]);
  });

  it('VL-163: requests are looked at in the order of their aliases', () => {
    world.addNode({ ID: NODE, CSINodePlugins: { disks: aNodePlugin() } });
    volume({ ID: 'first', PluginID: 'one' });
    volume({ ID: 'second', PluginID: 'two' });
    const Volumes = { b: aVolumeRequest({ Source: 'first' }), a: aVolumeRequest({ Source: 'second' }) };
    expect(whyNot(jobOf({}, { Volumes }))).toEqual([`CSI plugin two is missing from client ${NODE}`]);
  });

  it('VL-164: distinct volumes count, those of per_alloc by their own names', () => {
    machine(info({ MaxVolumes: 2 }), { ID: NODE });
    for (const ID of ['data[0]', 'data[1]', 'data[2]', 'more']) volume({ ID });
    world.register(jobOf({ PerAlloc: true }, { Count: 3 }));
    const { failedGroups } = world.run();
    expect(world.live()).toEqual(['web.web[0]', 'web.web[1]']);
    expect(failedGroups['web']?.ConstraintFiltered).toEqual({
      [`CSI plugin disks has the maximum number of volumes on client ${NODE}`]: 1,
    });
  });

  it('VL-164: many allocations with one volume take one place', () => {
    machine(info({ MaxVolumes: 2 }));
    volume({ RequestedCapabilities: [{ AccessMode: MULTI, AttachmentMode: 'file-system' }] });
    expect(whyNot(jobOf({ AccessMode: MULTI }, { Count: 4 }))).toBeUndefined();
  });

  const racks = (...segments: Record<string, string>[]) => segments.map((Segments) => ({ Segments }));
  it.each([
    ['nowhere in particular', null, null, true],
    ['in a rack', racks({ rack: '1' }), null, false],
    ['in a rack', racks({ rack: '1' }), { rack: '1', zone: 'a' }, true],
    ['in a rack', racks({ rack: '1' }), { rack: '2' }, false],
    ['in one of two racks', racks({ rack: '1' }, { rack: '2' }), { rack: '2' }, true],
    ['in a Rack', racks({ Rack: '1' }), { rack: '1' }, true],
    ['in a rack of a zone', racks({ rack: '1', zone: 'b' }), { rack: '1', zone: 'a' }, false],
  ])('VL-165, CW-12: a volume %s (%j) on a node in %j: %s', (_, Topologies, Segments, fits) => {
    machine(info({ AccessibleTopology: Segments && { Segments } }));
    volume({ Topologies });
    expect(whyNot(jobOf())).toEqual(fits ? undefined : ['did not meet topology requirement']);
  });
});

describe('the volume itself', () => {
  const READER = [{ AccessMode: 'multi-node-reader-only', AttachmentMode: 'file-system' }];

  it('SC-77: it cannot be read where its plugin needs a controller and has none', () => {
    machine();
    const controller = fixtures.aControllerPlugin({ Healthy: false });
    world.addNode({ CSIControllerPlugins: { disks: fixtures.aControllerPlugin() }, ID: uuid(0x99), Status: 'down' });
    world.addNode({ CSIControllerPlugins: { disks: controller }, ID: uuid(0x99), Status: 'down' });
    volume({ RequestedCapabilities: READER });
    const reason = 'CSI volume data is unschedulable or has exhausted its available reader claims';
    expect(whyNot(jobOf({ ReadOnly: true, AccessMode: 'multi-node-reader-only' }))).toEqual([reason]);
  });

  it('SC-78: it cannot be written where none of its capabilities has a writer', () => {
    machine();
    volume({ RequestedCapabilities: READER });
    expect(whyNot(jobOf())).toEqual(['CSI volume data is unschedulable or is read-only']);
    expect(whyNot(jobOf({ ReadOnly: true }, {}, { ID: 'reader' }))).toBeUndefined();
  });

  it('VL-166, SC-79: no write claim left, held by another job', () => {
    machine();
    volume();
    takenByAnotherJob();
    expect(whyNot(jobOf())).toEqual(['CSI volume data has exhausted its available writer claims']);
  });

  it('VL-166, SC-79: no write claim left, held by an allocation that is gone', () => {
    machine();
    volume();
    const holder = takenByAnotherJob();
    world.stopJob('other', true);
    expect(whyNot(jobOf())).toEqual([
      `CSI volume data has exhausted its available writer claims and is claimed by a garbage collected allocation ${holder}; waiting for claim to be released`,
    ]);
  });

  it('VL-166, SC-79: its own predecessor does not keep an allocation out', () => {
    machine();
    volume();
    expect(whyNot(jobOf())).toBeUndefined();
    claim({ AllocationID: world.allocs()[0]?.ID ?? '' });
    expect(whyNot(jobOf({}, { Meta: { version: '2' } }))).toBeUndefined();
    expect(world.live()).toEqual(['web.web[0]']);
  });

  it.each([
    ['SC-80: another writer where many may write', MULTI, false, undefined],
    ['VL-167: a reader where one reads already', 'single-node-reader-only', true, undefined],
  ])('%s', (_, AccessMode, ReadOnly, expected) => {
    machine();
    volume({ RequestedCapabilities: [{ AccessMode, AttachmentMode: 'file-system' }] });
    const other = jobOf({ AccessMode, ReadOnly }, {}, { ID: 'other' });
    expect(whyNot(other)).toBeUndefined();
    claim({ AllocationID: world.allocs()[0]?.ID ?? '', AccessMode, Mode: ReadOnly ? 0 : 1 });
    expect(whyNot(jobOf({ AccessMode, ReadOnly }))).toEqual(expected);
  });

  it('VL-169: the blocked evaluation waits for the volume whose claims are taken', () => {
    machine();
    volume();
    const holder = takenByAnotherJob();
    world.register(jobOf());
    expect(world.run().blocked).toMatchObject([{ escaped: true, missingResources: ['csi-volume:default:data'] }]);
    claim({ AllocationID: holder, State: CLAIM_STATE.readyToFree });
    expect(world.run().blocked).toEqual([]);
  });
});

describe('volumes of each allocation', () => {
  it('VL-178, VL-181, SC-67: one that is missing keeps out only the allocation of its index', () => {
    machine();
    volume({ ID: 'data[1]' });
    world.register(jobOf({ PerAlloc: true }, { Count: 3 }));
    const { blocked } = world.run();
    expect(world.live()).toEqual(['web.web[1]']);
    expect(blocked).toMatchObject([{ missingResources: ['csi-volume:default:data[0]', 'csi-volume:default:data[2]'] }]);
  });

  it('VL-180: a replacement keeps its index, and with it its volume', () => {
    machine();
    for (const ID of ['data[0]', 'data[1]']) volume({ ID });
    world.register(jobOf({ PerAlloc: true }, { Count: 2 }));
    world.run();
    const [, second] = world.allocs();
    if (!second) throw new Error('two were placed');
    fixtures.apply(
      world.state,
      'CSIVolumeDeregister',
      { VolumeIDs: ['data[0]'], Force: true },
      { namespace: 'default' },
    );
    world.report(second, { ClientStatus: 'lost' });
    world.run();
    expect(world.live()).toEqual(['web.web[0]', 'web.web[1]']);
  });
});

it('VL-168: two jobs may both be placed on a single writer: the claim decides', () => {
  machine();
  volume();
  expect(whyNot(jobOf({}, {}, { ID: 'other' }))).toBeUndefined();
  expect(whyNot(jobOf())).toBeUndefined();
});

it.each([
  ['a volume request', { Volumes: { data: aVolumeRequest({ ReadOnly: true }) } }],
  ['another volume', { Volumes: { data: aVolumeRequest(), more: aVolumeRequest({ Source: 'more' }) } }],
  [
    'a volume mount',
    {
      Tasks: [
        fixtures.aTask({
          VolumeMounts: [
            { Volume: 'data', Destination: '/data', ReadOnly: false, PropagationMode: 'private', SELinuxLabel: '' },
          ],
        }),
      ],
    },
  ],
  [
    'a plugin block',
    {
      Tasks: [
        fixtures.aTask({
          CSIPluginConfig: {
            ID: 'p',
            Type: 'node',
            MountDir: '/csi',
            StagePublishBaseDir: '/local/csi',
            HealthTimeout: 30e9,
          },
        }),
      ],
    },
  ],
])('VL-177: %s that changes takes a new allocation', (_, group) => {
  machine();
  volume();
  volume({ ID: 'more' });
  expect(whyNot(jobOf())).toBeUndefined();
  const [before] = world.allocs();
  expect(whyNot(jobOf({}, group))).toBeUndefined();
  const changed = world.allocs().filter(({ ID }) => ID !== before?.ID);
  expect(changed).toMatchObject([{ PreviousAllocation: before?.ID }]);
  expect(world.live()).toEqual(['web.web[0]']);
});
