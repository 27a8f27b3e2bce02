import { CLAIM_STATE, type CSIVolumeClaimRequest, FakeTime } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { type LeftMount, LeftMounts, StillLeftError } from './left-mounts.js';
import { useKey } from './volume-mounter.js';
import { VolumeUses } from './volume-uses.js';

const usage = { ReadOnly: false, AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
const claim: CSIVolumeClaimRequest = {
  VolumeID: 'data',
  AllocationID: 'a',
  NodeID: fixtures.aNode().ID,
  ExternalNodeID: 'n1',
  Claim: 1,
  AccessMode: usage.AccessMode,
  AttachmentMode: usage.AttachmentMode,
  State: CLAIM_STATE.nodeDetached,
  Timestamp: 0,
  Namespace: 'default',
  Region: 'global',
};
const volume = { allocId: 'a', namespace: 'default', volumeId: 'data', externalId: 'disk', usage };
const LEFT: LeftMount = { pluginId: 'disks', volume, claim };
const DAY_MS = 24 * 3_600_000;

function setup(disk: { left: readonly LeftMount[] } = { left: [] }) {
  const time = new FakeTime();
  const uses = new VolumeUses();
  const unmounted: string[] = [];
  const back: CSIVolumeClaimRequest[] = [];
  const plugin = { isUp: false };
  const here = new Set<string>();
  const mounts = new LeftMounts({
    list: { load: async () => disk.left, save: async (all) => void (disk.left = [...all]) },
    uses,
    unmount: async (_, { allocId }) => {
      if (!plugin.isUp) throw new Error('no plugin');
      unmounted.push(allocId);
    },
    giveBack: async (request) => void back.push(request),
    isHere: (allocId) => here.has(allocId),
    clock: time,
    timers: time,
    logger: silentLogger,
  });
  return { time, uses, unmounted, back, plugin, here, mounts, disk };
}

describe('mounts of allocations that are gone', () => {
  it('VL-232: are unmounted until that succeeds, however long it takes, and then given back', async () => {
    const { time, mounts, plugin, unmounted, back, disk, uses } = setup();
    await mounts.takeMounts([LEFT]);
    expect([disk.left, uses.isUsed(useKey(volume))]).toEqual([[LEFT], true]);
    await time.pass(3 * DAY_MS);
    expect(unmounted).toEqual([]);
    plugin.isUp = true;
    await time.pass(60_000);
    expect([unmounted, back, disk.left]).toEqual([['a'], [claim], []]);
    await time.pass(DAY_MS);
    expect(unmounted).toHaveLength(1);
  });

  it('VL-232: also by the next agent, from the list of this one', async () => {
    const before = setup();
    await before.mounts.takeMounts([LEFT]);
    before.mounts.close();
    const next = setup(before.disk);
    await next.mounts.restore();
    expect(next.uses.otherDisk(useKey(volume), 'another')).toEqual({ allocId: 'a', disk: 'disk' });
    next.plugin.isUp = true;
    before.plugin.isUp = true;
    await next.time.pass(60_000);
    await before.time.pass(60_000);
    expect([next.unmounted, next.disk.left, before.unmounted]).toEqual([['a'], [], []]);
  });

  it('VL-311: their disk is mounted for nobody else before; another disk is not held up', async () => {
    const { mounts, plugin, unmounted, disk } = setup();
    await mounts.takeMounts([LEFT]);
    const next = { ...volume, allocId: 'b' };
    await expect(mounts.clear('disks', next)).rejects.toThrow(
      'disk "disk" is still mounted here for allocation "a", which is gone: no plugin',
    );
    await mounts.clear('disks', { ...next, externalId: 'another' });
    await mounts.clear('others', next);
    plugin.isUp = true;
    await mounts.clear('disks', next);
    expect([unmounted, disk.left]).toEqual([['a'], []]);
  });

  it('AG-402: the claim of an allocation that is here again is its own', async () => {
    const { mounts, plugin, here, unmounted, back } = setup();
    await mounts.takeMounts([LEFT]);
    here.add('a');
    // Nothing may be left at its own place, whichever disk it was.
    await expect(mounts.clear('disks', { ...volume, externalId: 'another' })).rejects.toThrow(StillLeftError);
    plugin.isUp = true;
    await mounts.clear('disks', volume);
    expect([unmounted, back]).toEqual([['a'], []]);
  });

  it.each([
    ['readers', { ...usage, ReadOnly: true, AccessMode: 'multi-node-reader-only' }],
    ['several writers', { ...usage, AccessMode: 'multi-node-multi-writer' }],
  ])('VL-311: a disk that is for %s is not held up', async (_, shared) => {
    const { mounts } = setup();
    await mounts.takeMounts([{ ...LEFT, volume: { ...volume, usage: shared } }]);
    await mounts.clear('disks', { ...volume, allocId: 'b', usage: shared });
    await expect(mounts.clear('disks', { ...volume, allocId: 'b' })).rejects.toThrow(StillLeftError);
  });
});
