import { CLAIM_STATE, type CSIVolumeClaim } from '@waybill/model';
import { eventsOf, fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS, MINUTE_MS } from './collecting.fixture.js';

let world: CollectingFixture;

beforeEach(() => {
  world = new CollectingFixture();
});

/** A write claim of an allocation. */
const claimOf = (AllocationID: string, over: Partial<CSIVolumeClaim> = {}): Record<string, CSIVolumeClaim> => ({
  [AllocationID]: fixtures.aCSIClaim({ AllocationID, ...over }),
});
const woken = (): string[] =>
  world.reaps.flatMap((reap) => (reap.Kind === 'volume-claims' ? reap.Volumes.map(({ ID }) => ID) : []));

describe('claims that nobody holds any more', () => {
  it('GC-63 GC-66 GC-126, VL-155: of two claims whose allocations are gone and a live one: the volume is written, and says so', async () => {
    const live = world.alloc({ ID: 'eval', JobID: 'web' }, { ClientStatus: 'running' });
    const WriteClaims = { ...claimOf('gone-1'), ...claimOf('gone-2'), ...claimOf(live.ID) };
    world.volume({ WriteClaims });
    await world.run('csi-volume-claim-gc');
    expect(woken()).toEqual(['data']);
    const after = world.tables.csi_volumes.get('default/data')!;
    expect(after.ModifyIndex).toBe(world.state.appliedIndex);
    expect(Object.values(after.PastClaims).map(({ AllocationID, State }) => [AllocationID, State])).toEqual([
      ['gone-1', CLAIM_STATE.unpublishing],
      ['gone-2', CLAIM_STATE.unpublishing],
    ]);
    expect(after.WriteClaims).toEqual(WriteClaims);
    expect(eventsOf(world.applied[0]!)!.Events.map(({ Type }) => Type)).toEqual(['CSIVolumeClaim']);
  });

  it.each([
    ['gone', undefined, true],
    ['complete', 'complete', true],
    ['failed', 'failed', true],
    ['lost', 'lost', true],
    ['running', 'running', false],
    ['unknown', 'unknown', false],
    ['pending', 'pending', false],
  ] as const)('GC-63 GC-64 GC-105: of an allocation that is %s', async (_what, ClientStatus, wakes) => {
    const evaluation = { ID: 'eval', JobID: 'web' };
    const id = ClientStatus ? world.alloc(evaluation, { ClientStatus, DesiredStatus: 'stop' }).ID : 'gone';
    world.volume({ WriteClaims: claimOf(id) });
    await world.run('csi-volume-claim-gc');
    expect(woken()).toEqual(wakes ? ['data'] : []);
  });

  it('GC-64 GC-105, VL-156: none of a volume that nobody claims, and no volume is ever removed', async () => {
    world.volume();
    await world.run('force-gc');
    expect(world.reaps).toEqual([]);
    expect(world.tables.csi_volumes.size).toBe(1);
  });

  it('GC-63: also one that is stored as given back and got no further', async () => {
    world.volume({ PastClaims: claimOf('gone', { State: CLAIM_STATE.nodeDetached }) });
    await world.run('csi-volume-claim-gc');
    expect(woken()).toEqual(['data']);
  });

  it.each([
    [5 * MINUTE_MS, ['data']],
    [5 * MINUTE_MS - 1, []],
  ])('GC-69: one that was written %s ms ago', async (age, expected) => {
    world.volume({ WriteClaims: claimOf('gone'), ModifyTime: world.ago(age) });
    await world.run('csi-volume-claim-gc');
    expect(woken()).toEqual(expected);
  });

  it('GC-65: looking changes nothing', async () => {
    const volume = world.volume({ WriteClaims: claimOf('gone') });
    const before = structuredClone(volume);
    await world.run('csi-volume-claim-gc', { reap: async () => {} });
    expect(world.tables.csi_volumes.get('default/data')).toBe(volume);
    expect(volume).toEqual(before);
  });

  it('GC-67: named behind a colon, one volume is woken without looking at age or claims', async () => {
    world.volume({ ID: 'fresh', ModifyTime: world.ago(0) });
    world.volume({ ID: 'data', WriteClaims: claimOf('gone') });
    const reaps: unknown[] = [];
    await world.run('csi-volume-claim-gc:fresh', { reap: async (reap) => void reaps.push(reap) });
    expect(reaps).toEqual([{ Kind: 'volume-claims', Volumes: [{ Namespace: '-', ID: 'fresh' }] }]);
  });

  it('GC-68, race 15: one that is deregistered meanwhile keeps no other from being woken', async () => {
    world.volume({ ID: 'first', WriteClaims: claimOf('gone') });
    world.volume({ ID: 'second', WriteClaims: claimOf('gone') });
    world.before = () => void world.tables.csi_volumes.replace('default/first', undefined);
    await world.run('csi-volume-claim-gc');
    expect(world.applied.map(({ verdict }) => verdict.kind)).toEqual(['refused', 'accepted']);
  });
});

describe('plugins', () => {
  it('GC-70: one that nobody runs and nobody is to run goes, also while volumes are on it', async () => {
    world.plugin();
    world.volume();
    await world.run('csi-plugin-gc');
    expect(world.tables.csi_plugins.size).toBe(0);
  });

  it.each([
    [HOUR_MS, 0],
    [HOUR_MS - 1, 1],
  ])('GC-70 GC-73: not within an hour of the last write (%s ms: %s left); under force at once', async (age, left) => {
    world.plugin({ ModifyTime: world.ago(age) });
    await world.run('csi-plugin-gc');
    expect(world.tables.csi_plugins.size).toBe(left);
    await world.run('force-gc');
    expect(world.tables.csi_plugins.size).toBe(0);
  });

  it('GC-71 GC-73 GC-105, race 16: one that a machine runs is not asked for, and the others are still looked at', async () => {
    world.plugin({ Nodes: { node: fixtures.aNodePlugin() }, NodesHealthy: 1 });
    world.volume({ WriteClaims: claimOf('gone') });
    world.node();
    await world.run('force-gc');
    expect(world.reaps.map(({ Kind }) => Kind)).toEqual(['volume-claims', 'nodes']);
    expect(world.tables.csi_plugins.size).toBe(1);
  });

  it('GC-72: one that comes into use meanwhile stays, and keeps nothing else', async () => {
    world.plugin({ ID: 'first' });
    world.plugin({ ID: 'second' });
    world.before = () => {
      if (world.applied.length === 0) world.plugin({ ID: 'first', Nodes: { node: fixtures.aNodePlugin() } });
    };
    await world.run('csi-plugin-gc');
    expect(world.applied.map(({ verdict }) => verdict.kind)).toEqual(['refused', 'accepted']);
    expect([...world.tables.csi_plugins.all()].map(({ ID }) => ID)).toEqual(['first']);
  });
});
