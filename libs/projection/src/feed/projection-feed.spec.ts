import type { Timers } from '@waybill/model';
import type { Verdict } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AnnouncedTxn, Announcement } from './announcement.js';
import { OtherTransactionError, ProjectionBehindError } from '../errors.js';
import { ProjectionFeed, SILENCE_MS } from './projection-feed.js';
import type { RecordedVerdict } from '../reading/recorded-verdict.js';
import type { WatchKey } from '../reading/watch-keys.js';

/** Time that moves only when told to. */
class FakeTime implements Timers {
  private at = 0;
  private readonly due: { at: number; run: () => void }[] = [];
  nowMs = (): number => this.at;
  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.at + delayMs, run };
    this.due.push(timer);
    return () => {
      const position = this.due.indexOf(timer);
      if (position >= 0) this.due.splice(position, 1);
    };
  }
  get pending(): number {
    return this.due.length;
  }
  async pass(ms: number): Promise<void> {
    const end = this.at + ms;
    for (;;) {
      this.due.sort((a, b) => a.at - b.at);
      const next = this.due[0];
      if (!next || next.at > end) break;
      this.at = next.at;
      this.due.shift();
      next.run();
      await settled();
    }
    this.at = end;
  }
}
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

const accepted: Verdict = { kind: 'accepted' };
let time: FakeTime;
let stored: Map<number, Verdict>;
let storedAt: number;
let asked: number;
let feed: ProjectionFeed;

beforeEach(() => {
  time = new FakeTime();
  stored = new Map();
  storedAt = 0;
  asked = 0;
  feed = new ProjectionFeed({
    clock: time,
    timers: time,
    record: {
      appliedIndex: () => {
        asked += 1;
        return Promise.resolve(storedAt);
      },
      txnVerdict: (index): Promise<RecordedVerdict | undefined> => {
        asked += 1;
        const verdict = stored.get(index);
        return Promise.resolve(verdict && { index, requestId: `recorded ${index}`, verdict });
      },
    },
  });
});

function announce(from: number, entries: Partial<AnnouncedTxn>[], over: Partial<Announcement> = {}): void {
  feed.receive({
    from,
    to: from + entries.length,
    appliedAtMs: time.nowMs(),
    eventSequence: 0,
    entries: entries.map((entry, n) => ({
      index: from + n + 1,
      requestId: `announced ${from + n + 1}`,
      verdict: accepted,
      keys: [],
      ...entry,
    })),
    ...over,
  });
}

describe('ProjectionFeed', () => {
  it('ST-10: a writer is told its verdict when the read model has its index, not before', async () => {
    const answers: unknown[] = [];
    void feed.waitFor(2, 10_000).then((verdict) => answers.push(verdict));
    announce(0, [{}]);
    await settled();
    expect(answers).toEqual([]);
    announce(1, [{ verdict: { kind: 'refused', code: 'not-found', error: 'gone' } }]);
    await settled();
    expect(answers).toEqual([{ kind: 'refused', code: 'not-found', error: 'gone' }]);
    expect(time.pending).toBe(1); // the look-out for silence; the waiter's own timer is gone
  });

  it('an announcement that comes before the wait is not lost', async () => {
    announce(0, [{ verdict: { kind: 'noop', result: 1 } }]);
    expect(await feed.waitFor(1, 1)).toEqual({ kind: 'noop', result: 1 });
    expect(asked).toBe(0);
  });

  it('a missed announcement is made good by Postgres: verdicts are looked up and every watch is woken', async () => {
    const watch = feed.watch([['nodes', 'n1']]);
    const verdict = feed.waitFor(2, 10_000);
    stored.set(2, { kind: 'void', error: 'stale epoch' });
    announce(3, [{}]);
    expect(await verdict).toEqual({ kind: 'void', error: 'stale epoch' });
    expect(await watch.changed(1)).toBe(true);
  });

  it('ST-1: an index that is another transaction is no verdict of the one that was written', async () => {
    announce(0, [{}]);
    expect(await feed.waitFor(1, 1, 'announced 1')).toEqual(accepted);
    await expect(feed.waitFor(1, 1, 'lost')).rejects.toThrow(OtherTransactionError);
    stored.set(3, accepted);
    announce(3, [{}]);
    expect(await feed.waitFor(3, 1, 'recorded 3')).toEqual(accepted);
    await expect(feed.waitFor(3, 1, 'lost')).rejects.toThrow(OtherTransactionError);
  });

  it('silence while somebody waits makes it ask Postgres', async () => {
    const verdict = feed.waitFor(1, 10_000);
    storedAt = 1;
    stored.set(1, accepted);
    await time.pass(SILENCE_MS);
    expect(await verdict).toEqual(accepted);
  });

  it('also when the clock was set back since the last announcement', async () => {
    announce(0, [{}]);
    time.nowMs = () => -3_600_000;
    const verdict = feed.waitFor(2, 10_000);
    storedAt = 2;
    stored.set(2, accepted);
    await time.pass(SILENCE_MS);
    expect(await Promise.race([verdict, settled()])).toEqual(accepted);
  });

  it('nobody waiting, nobody asked', async () => {
    announce(0, [{}]);
    const watch = feed.watch([['jobs', '*']]);
    const changed = watch.changed(300_000);
    await time.pass(300_000);
    expect(await changed).toBe(false);
    expect(asked).toBe(0);
  });

  it('ends a wait with what it was for and where the read model is', async () => {
    announce(0, [{}]);
    const wait = feed.waitFor(9, 100);
    const outcome = expect(wait).rejects.toMatchObject({ waitedFor: 9, appliedIndex: 1 });
    await time.pass(100);
    await outcome;
    await expect(wait).rejects.toThrow(ProjectionBehindError);
  });

  it('ST-152: a change between opening a watch and waiting for it is not lost', async () => {
    const watch = feed.watch([['jobs', 'default/web']]);
    announce(0, [{ keys: [['jobs', 'default/web']] }]);
    expect(await watch.changed(60_000)).toBe(true);
    const again = watch.changed(60_000);
    announce(1, [{ keys: [['jobs', 'default/other']] }]);
    await time.pass(60_000);
    expect(await again).toBe(false);
  });

  it('ST-158: a change wakes those who watch its row, its group or its table, and touches no other watch', async () => {
    const woken: string[] = [];
    const open = (name: string, key: WatchKey): void => {
      void feed
        .watch([key])
        .changed(1_000)
        .then((changed) => changed && woken.push(name));
    };
    for (let n = 0; n < 1_000; n++) open(`other ${n}`, ['allocs', `other ${n}`]);
    open('row', ['allocs', 'a']);
    open('group', ['allocs', 'node:n1']);
    open('table', ['allocs', '*']);
    open('other table', ['nodes', '*']);
    announce(0, [
      {
        keys: [
          ['allocs', 'a'],
          ['allocs', 'node:n1'],
        ],
      },
    ]);
    await settled();
    expect(woken.toSorted()).toEqual(['group', 'row', 'table']);
    announce(1, [{ keys: [['allocs', '*']] }]);
    await settled();
    expect(woken).toHaveLength(1_003);
  });

  it('a watch ends when its query is dropped, and leaves nothing behind', async () => {
    const watch = feed.watch([['jobs', '*']]);
    const dropped = new AbortController();
    const changed = watch.changed(60_000, dropped.signal);
    dropped.abort();
    expect(await changed).toBe(false);
    watch.close();
    watch.close();
    expect(feed.watchCount).toBe(0);
    expect(time.pending).toBe(0);
  });

  it('ST-1: goes back with PostgreSQL after an adopted log, wakes every watch, and hears what follows', async () => {
    announce(0, [{}, {}, {}, {}]);
    const rows = ['one', 'two'].map((key): WatchKey => ['acl_token', key]);
    const watches = rows.map((row) => feed.watch([row]).changed(10_000));
    announce(1, [{ requestId: 'of another history' }]);
    expect([feed.applied, await Promise.all(watches)]).toEqual([2, [true, true]]);
    const next = feed.watch(rows.slice(0, 1)).changed(10_000);
    announce(2, [{ keys: rows.slice(0, 1) }]);
    expect([feed.applied, await next]).toEqual([3, true]);
  });

  it('ST-1: goes back also when it learns of it only at a reconnect', async () => {
    announce(0, [{}, {}, {}, {}]);
    const watch = feed.watch([['acl_token', 'one']]).changed(10_000);
    storedAt = 2;
    await feed.resync();
    expect([feed.applied, await watch]).toEqual([2, true]);
  });

  it('an old or repeated announcement changes nothing', async () => {
    announce(0, [{}, {}]);
    announce(0, [{}]);
    announce(2, []);
    expect(feed.applied).toBe(2);
  });

  it('stop ends every wait', async () => {
    const verdict = expect(feed.waitFor(1, 10_000)).rejects.toThrow(ProjectionBehindError);
    const watch = feed.watch([['jobs', '*']]).changed(10_000);
    feed.stop();
    expect(await watch).toBe(false);
    await verdict;
    expect(time.pending).toBe(0);
  });
});
