import { termOf } from '@waybill/roles';
import { FakeTime } from '@waybill/model';
import { ARCHIVE_FORMAT } from '@waybill/model/snapshot-archive';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import type { ShelvedArchive } from './archive-shelf.js';
import { ARCHIVE_RETRY_MS, Archiving } from './archiving.js';

const DAY_MS = 86_400_000;

function setup(keep = 2) {
  const time = new FakeTime();
  let archives: ShelvedArchive[] = [];
  const damaged = new Set<number>();
  const order: string[] = [];
  const state = { index: 1, fails: false };
  const options = {
    intervalMs: DAY_MS,
    keep,
    shelf: {
      list: () => Promise.resolve([...archives]),
      isWhole: ({ index }: ShelvedArchive) => Promise.resolve(!damaged.has(index)),
      put: ({ meta }: { meta: { Index: number } }, takenAtMs: number) => {
        const archive = { name: `${meta.Index}`, index: meta.Index, takenAtMs };
        order.push(`put ${archive.name}`);
        archives = [...archives, archive].toSorted((a, b) => a.index - b.index);
        return Promise.resolve(archive);
      },
      remove: ({ name }: ShelvedArchive) => {
        order.push(`remove ${name}`);
        archives = archives.filter((one) => one.name !== name);
        return Promise.resolve();
      },
    },
    take: () => {
      if (state.fails) return Promise.reject(new Error('Postgres is down'));
      const of = {
        Format: ARCHIVE_FORMAT,
        ID: 'a',
        Term: 1,
        Version: '1',
        Tables: {},
        TableIndexes: {},
        EventFloor: 1,
      };
      return Promise.resolve({ meta: { ...of, Index: state.index }, bytes: Buffer.alloc(0) });
    },
    clock: time,
    timers: time,
    logger: silentLogger,
  };
  let held = true;
  const term = termOf('projector', 1, { isCurrent: () => held });
  const begin = (): Archiving => {
    const archiving = new Archiving(options);
    archiving.start(term);
    return archiving;
  };
  const kept = (): number[] => archives.map(({ index }) => index);
  const shelve = (...given: ShelvedArchive[]) => void archives.push(...given);
  return { time, state, damaged, order, begin, kept, shelve, lose: () => (held = false) };
}

describe('archives at intervals', () => {
  it('OP-49: the first at once, then one per interval; the newest are kept, and an old one goes after the new one is there', async () => {
    const { time, state, order, begin, kept } = setup();
    const archiving = begin();
    await time.pass(1);
    expect([kept(), archiving.verifiedIndex]).toEqual([[1], 1]);
    for (state.index = 2; state.index <= 4; state.index++) {
      await time.pass(DAY_MS - 1_000);
      expect(kept()).not.toContain(state.index);
      await time.pass(1_001);
      expect(kept()).toContain(state.index);
    }
    expect(kept()).toEqual([3, 4]);
    expect(order.slice(-2)).toEqual(['put 4', 'remove 2']);
    await archiving.stop();
  });

  it('OP-49: who takes the role over goes on at the pace of what lies there', async () => {
    const { time, state, begin, kept, shelve } = setup();
    shelve({ name: 'a', index: 7, takenAtMs: time.nowMs() - DAY_MS / 2 });
    state.index = 9;
    const archiving = begin();
    await time.pass(DAY_MS / 2 - 1);
    expect([kept(), archiving.verifiedIndex]).toEqual([[7], 7]);
    await time.pass(1);
    expect([kept(), archiving.verifiedIndex]).toEqual([[7, 9], 9]);
    await archiving.stop();
  });

  it('ST-186: for an erasure an archive is stored at once, and all older ones go', async () => {
    const { time, state, order, begin, kept, shelve } = setup(5);
    shelve({ name: 'a', index: 3, takenAtMs: time.nowMs() }, { name: 'b', index: 7, takenAtMs: time.nowMs() });
    const archiving = begin();
    await time.pass(1);
    state.index = 9;
    await archiving.replaceBelow(8);
    expect([kept(), order]).toEqual([[9], ['put 9', 'remove a', 'remove b']]);
    await archiving.replaceBelow(9);
    expect(order).toHaveLength(3);
    state.fails = true;
    await expect(archiving.replaceBelow(12)).rejects.toThrow('Postgres is down');
    expect(kept()).toEqual([9]);
    await archiving.stop();
  });

  it('OP-49: one that cannot be read back counts for nothing, and no other goes for it', async () => {
    const { time, state, damaged, begin, kept, shelve } = setup(1);
    const longAgo = time.nowMs() - 2 * DAY_MS;
    shelve({ name: 'a', index: 5, takenAtMs: longAgo }, { name: 'b', index: 6, takenAtMs: time.nowMs() });
    for (const index of [6, 7]) damaged.add(index);
    state.index = 7;
    const archiving = begin();
    await time.pass(1_000);
    expect([kept(), archiving.verifiedIndex]).toEqual([[5, 6, 7], 5]);
    state.index = 8;
    await time.pass(ARCHIVE_RETRY_MS);
    expect([kept(), archiving.verifiedIndex]).toEqual([[8], 8]);
    await archiving.stop();
  });

  it('one that cannot be taken is tried again; one that was taken under a clock ahead holds nothing up', async () => {
    const { time, state, begin, kept, shelve } = setup();
    shelve({ name: 'a', index: 5, takenAtMs: time.nowMs() + 100 * DAY_MS });
    state.fails = true;
    const archiving = begin();
    await time.pass(DAY_MS + 1);
    expect(kept()).toEqual([5]);
    state.fails = false;
    state.index = 6;
    await time.pass(ARCHIVE_RETRY_MS);
    expect(kept()).toEqual([5, 6]);
    await archiving.stop();
  });

  it('takes none without the role', async () => {
    const { time, begin, kept, lose } = setup();
    const archiving = begin();
    lose();
    await time.pass(3 * DAY_MS);
    expect(kept().length).toBeLessThanOrEqual(1);
    await archiving.stop();
    await time.pass(3 * DAY_MS);
    expect(kept().length).toBeLessThanOrEqual(1);
  });
});
