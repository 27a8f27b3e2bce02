import { FakeTime, settle } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import {
  AllocationGarbageCollector,
  COLLECT_EVERY_MS,
  type DiskUse,
  KEEP_LIMITS,
  type KeepLimits,
  MAX_COLLECTING,
} from './allocation-garbage-collector.js';

const ROOM: DiskUse = { diskPercent: 80, inodesPercent: 70 };

function setup(running: number, ended: number, diskUse: () => DiskUse = () => ROOM, limits?: KeepLimits) {
  const time = new FakeTime();
  // The youngest come first, so that the test proves the sorting.
  const left = Array.from({ length: ended }, (_, i) => ({ id: `a${ended - i}`, endedAtMs: ended - i }));
  const removed: string[] = [];
  let [now, most] = [0, 0];
  const collector = new AllocationGarbageCollector({
    timers: time,
    logger: silentLogger,
    diskUse: async () => diskUse(),
    ...(limits && { limits }),
    allocations: {
      get size() {
        return running + left.length;
      },
      endedAllocations: () => [...left],
      collect: async (id) => {
        now++;
        most = Math.max(most, now);
        await Promise.resolve();
        left.splice(
          left.findIndex((alloc) => alloc.id === id),
          1,
        );
        removed.push(id);
        now--;
      },
    },
  });
  return { time, collector, removed, most: () => most };
}

describe('garbage of allocations', () => {
  it('GC-122, AG-210, AG-211: the oldest go until no more than the limit are here, two at a time', async () => {
    const { collector, removed, most } = setup(10, KEEP_LIMITS.allocs - 5);
    collector.collectIfFull();
    collector.collectIfFull();
    await settle();
    expect(removed).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
    expect(most()).toBe(MAX_COLLECTING);
  });

  it('AG-211: what runs is never collected', async () => {
    const { collector, removed } = setup(KEEP_LIMITS.allocs + 10, 3);
    collector.collectIfFull();
    await settle();
    expect(removed).toEqual(['a1', 'a2', 'a3']);
  });

  it('GC-122, AG-210: a full disk, looked at every minute; one at a time until there is room', async () => {
    for (const over of [{ diskPercent: 81 }, { inodesPercent: 71 }]) {
      let full = false;
      const { time, collector, removed } = setup(1, 5, () =>
        full && removed.length < 2 ? { ...ROOM, ...over } : ROOM,
      );
      collector.start();
      await time.pass(COLLECT_EVERY_MS);
      expect(removed).toEqual([]);
      full = true;
      await time.pass(COLLECT_EVERY_MS);
      expect(removed).toEqual(['a1', 'a2']);
      await collector.stop();
      expect(time.pending).toBe(0);
    }
  });

  it('AG-210: the limits are those the machine was given', async () => {
    const full = { diskPercent: 98, inodesPercent: 98 };
    const limits = { allocs: 2, diskPercent: 99, inodesPercent: 99 };
    const { collector, removed } = setup(1, 3, () => full, limits);
    collector.collectIfFull();
    await settle();
    expect(removed).toEqual(['a1', 'a2']);
  });

  it('AG-213: one by request, if it has ended; or all of them', async () => {
    const { collector, removed } = setup(1, 3);
    expect(await collector.collectOne('running')).toBe(false);
    expect(await collector.collectOne('a2')).toBe(true);
    await collector.collectAll();
    expect(removed).toEqual(['a2', 'a1', 'a3']);
  });
});
