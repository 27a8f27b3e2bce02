import type { HostVolume, Node, TaskGroup, VolumeRequest } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { SchedulingFixture } from './scheduling.fixture.js';

/** Where allocations with host volumes may go (SC 7.1, VL-293). */

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const { aGroup, aHostVolume, aJob, aVolumeRequest, uuid } = fixtures;
const request = (over: Partial<VolumeRequest> = {}) =>
  aVolumeRequest({ Type: 'host', AccessMode: '', AttachmentMode: '', ...over });
const jobOf = (over: Partial<VolumeRequest> = {}, group: Partial<TaskGroup> = {}, ID = 'web') =>
  aJob({ ID, TaskGroups: [aGroup({ Volumes: { data: request(over) }, ...group })] });
const reported = (ID: string, Name = 'data'): Partial<Node> => ({
  HostVolumes: { [Name]: { Name, Path: '/data', ReadOnly: false, ID } },
});
let volumes = 0;
/** A machine with a dynamic volume. */
const machine = (over: Partial<HostVolume> = {}, report = true) => {
  const ID = uuid(0x600 + ++volumes);
  const node = world.addNode(report ? reported(ID, over.Name) : {});
  const Volume = aHostVolume({ ID, NodeID: node.ID, State: 'pending', ...over });
  fixtures.apply(world.state, 'HostVolumeRegister', { Volume });
  return { node, volume: Volume };
};
const isPlaced = (job = jobOf()): boolean => {
  world.register(job);
  const failed = world.run({ JobID: job.ID }).failedGroups['web'];
  if (failed) expect(Object.keys(failed.ConstraintFiltered ?? {})).toEqual(['missing compatible host volumes']);
  return failed === undefined;
};
const nodesOfLive = (): string[] =>
  world
    .allocs()
    .filter((alloc) => alloc.DesiredStatus === 'run' && alloc.ClientStatus !== 'lost')
    .map(({ NodeID }) => NodeID);
const offers = (...modes: string[]) => ({
  RequestedCapabilities: modes.map((AccessMode) => ({ AccessMode, AttachmentMode: 'file-system' })),
});

describe('dynamic host volumes', () => {
  it('SC-70, VL-293: there must be a volume, in the namespace of the job, and ready', () => {
    world.addNode(reported(uuid(1)));
    expect(isPlaced()).toBe(false);
    fixtures.apply(world.state, 'NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    machine({ Namespace: 'team' });
    expect(isPlaced()).toBe(false);
    const { node } = machine();
    expect(isPlaced()).toBe(true);
    expect(world.allocs().map(({ NodeID }) => NodeID)).toEqual([node.ID]);
  });

  it('SC-70: one that its node reports no more is not ready', () => {
    const { node, volume } = machine();
    world.addNode({ ID: node.ID, HostVolumes: {} });
    world.addNode({ ID: uuid(2), ...reported(volume.ID) });
    expect(isPlaced()).toBe(false);
  });

  it.each([
    ['what is not asked for means a writer', {}, ['single-node-writer'], true],
    ['what is not asked for means a reader', { ReadOnly: true }, ['single-node-reader-only'], true],
    ['not offered', {}, ['single-node-reader-only'], false],
    ['not attached so', { AttachmentMode: 'block-device' }, ['single-node-writer'], false],
  ])('SC-71, VL-293: %s: %j of %j → %s', (_, asked, modes, fits) => {
    machine(offers(...modes));
    expect(isPlaced(jobOf(asked))).toBe(fits);
  });

  it.each([
    ['single-node-reader-only', false, false],
    ['single-node-reader-only', true, true],
    ['single-node-writer', true, false],
    ['single-node-writer', false, true],
    ['single-node-multi-writer', true, true],
    ['single-node-multi-writer', false, true],
  ])('SC-72, VL-293: in mode %s, read-only %s → %s', (AccessMode, ReadOnly, fits) => {
    machine(offers(AccessMode));
    expect(isPlaced(jobOf({ AccessMode, ReadOnly }))).toBe(fits);
  });

  it('SC-72, VL-293: a single writer is one on its node, in one plan and in the next; readers do not count', () => {
    const AccessMode = 'single-node-single-writer';
    machine(offers(AccessMode, 'single-node-reader-only'));
    expect(isPlaced(jobOf({ ReadOnly: true }, {}, 'reader'))).toBe(true);
    expect(isPlaced(jobOf({ AccessMode }, { Count: 2 }))).toBe(false);
    expect(world.live()).toEqual(['reader.web[0]', 'web.web[0]']);
    expect(isPlaced(jobOf({ AccessMode }, {}, 'late'))).toBe(false);
  });

  it('SC-72: a writer in another namespace writes to another volume', () => {
    const AccessMode = 'single-node-single-writer';
    const { node } = machine(offers(AccessMode));
    const running = (Namespace: string) => {
      const Job = { ...jobOf({ AccessMode }, {}, 'running'), Namespace };
      const alloc = fixtures.anAlloc({ ID: 'running', Namespace, JobID: 'running', Job, NodeID: node.ID });
      world.state.tables.allocs.replace(alloc.ID, alloc);
    };
    running('default');
    expect(isPlaced(jobOf({ AccessMode }))).toBe(false);
    running('team');
    expect(isPlaced(jobOf({ AccessMode }))).toBe(true);
  });

  it('VL-179, SC-67: with per_alloc each by its own name', () => {
    const { node } = machine({ Name: 'data[1]' });
    world.register(jobOf({ PerAlloc: true }, { Count: 2 }));
    world.run();
    expect(world.allocs().map(({ Name, NodeID }) => [Name, NodeID])).toEqual([['web.web[1]', node.ID]]);
  });

  it('SC-74, VL-280: one request that is met does not stand for the others', () => {
    machine();
    const Volumes = { a: request(), b: request({ Source: 'absent' }) };
    expect(isPlaced(jobOf({}, { Volumes }))).toBe(false);
  });
});

describe('sticky host volumes', () => {
  it('SC-73, VL-294: a replacement goes back to the volume of its predecessor, wherever else there is room', () => {
    machine();
    expect(isPlaced(jobOf({ Sticky: true }))).toBe(true);
    const [home] = nodesOfLive();
    for (let i = 0; i < 9; i++) machine();
    const [first] = world.allocs();
    if (!first) throw new Error('it was placed');
    world.report(first, { ClientStatus: 'lost' });
    world.run();
    expect(nodesOfLive()).toEqual([home]);
    const claims = [...world.state.tables.task_volume.all()];
    expect(claims).toMatchObject([{ JobID: 'web', TaskGroupName: 'web', VolumeName: 'data' }]);
    expect(claims[0]?.AllocID).not.toBe(first.ID);
  });

  it('SC-73: nowhere else while the claimed volume cannot be had', () => {
    const { node } = machine();
    expect(isPlaced(jobOf({ Sticky: true }))).toBe(true);
    const [first] = world.allocs();
    if (!first) throw new Error('it was placed');
    machine();
    world.report(first, { ClientStatus: 'lost' });
    world.nodeDown(node);
    expect(Object.keys(world.run().failedGroups)).toEqual(['web']);
    world.nodeIs(node, 'ready');
    world.run();
    expect(nodesOfLive()).toEqual([node.ID]);
  });

  it('SC-73: one more than there are claims may go to any volume', () => {
    machine();
    expect(isPlaced(jobOf({ Sticky: true }))).toBe(true);
    const { node } = machine();
    world.makeIneligible(world.state.tables.nodes.get(nodesOfLive()[0] ?? '') ?? node);
    expect(isPlaced(jobOf({ Sticky: true }, { Count: 2 }))).toBe(true);
    expect(nodesOfLive()).toContain(node.ID);
    expect(world.state.tables.task_volume.size).toBe(2);
  });

  it('SC-73: each of several goes back to a volume of its own', () => {
    const AccessMode = 'single-node-single-writer';
    for (let i = 0; i < 3; i++) machine(offers(AccessMode));
    expect(isPlaced(jobOf({ Sticky: true, AccessMode }, { Count: 3 }))).toBe(true);
    const homes = nodesOfLive().toSorted();
    for (let i = 0; i < 6; i++) machine(offers(AccessMode));
    for (const alloc of world.allocs()) world.report(alloc, { ClientStatus: 'lost' });
    world.run();
    expect(nodesOfLive().toSorted()).toEqual(homes);
  });

  it('VL-294: the claims go with the job that is purged', () => {
    machine();
    expect(isPlaced(jobOf({ Sticky: true }))).toBe(true);
    expect(world.state.tables.task_volume.size).toBe(1);
    world.stopJob('web', true);
    expect(world.state.tables.task_volume.size).toBe(0);
  });
});
