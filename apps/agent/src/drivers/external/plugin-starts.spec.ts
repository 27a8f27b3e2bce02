import { FakeTime, settle } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { Gate } from '../../waiting/gate.js';
import { CANCEL_WAIT_MS, CLOSE_WAIT_MS, PluginStarts, SEARCH_MS } from './plugin-starts.js';

let time: FakeTime;
let warnings: string[];
beforeEach(() => {
  time = new FakeTime();
  warnings = [];
});

function startsWith(destroy: (taskId: string) => Promise<boolean>): PluginStarts {
  const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  return new PluginStarts({ driver: 'slow', destroy, timers: time, logger });
}

/** Says whether a promise has resolved. */
function watched(work: Promise<unknown>): () => boolean {
  let isDone = false;
  void work.then(() => (isDone = true));
  return () => isDone;
}

describe('a cancelled start', () => {
  it('PG-140: its task is destroyed when a slow plugin has started it, long after the kill has gone on', async () => {
    let isThere = false;
    let asked = 0;
    const starts = startsWith(async () => {
      asked++;
      return isThere;
    });
    const goesOn = watched(starts.removeCancelled('t'));
    await time.pass(CANCEL_WAIT_MS - 1);
    expect(goesOn()).toBe(false);
    await time.pass(1);
    expect([goesOn(), starts.isSearching('t')]).toEqual([true, true]);
    asked = 0;
    await time.pass(60_000);
    expect(asked).toBeLessThanOrEqual(13);
    isThere = true;
    await time.pass(10_000);
    expect([starts.isSearching('t'), time.pending, warnings]).toEqual([false, 0, []]);
  });

  it('PG-140: a task that is there at once holds up nothing', async () => {
    const goesOn = watched(startsWith(async () => true).removeCancelled('t'));
    await settle();
    expect([goesOn(), time.pending]).toEqual([true, 0]);
  });

  it('PG-140: a plugin that hangs holds up the kill for five seconds', async () => {
    const goesOn = watched(startsWith(() => new Promise(() => {})).removeCancelled('t'));
    await time.pass(CANCEL_WAIT_MS);
    expect(goesOn()).toBe(true);
  });

  it('PG-140: a search that finds nothing, or that the plugin refuses, ends with a warning', async () => {
    const starts = startsWith(async (taskId) => {
      if (taskId === 'refused') throw new Error('no');
      return false;
    });
    void starts.removeCancelled('absent');
    void starts.removeCancelled('refused');
    await settle();
    expect(warnings).toEqual(['a task whose start was cancelled cannot be destroyed']);
    await time.pass(SEARCH_MS - 1);
    expect([starts.isSearching('absent'), warnings.length]).toEqual([true, 1]);
    await time.pass(10_000);
    expect([starts.isSearching('absent'), warnings.length, time.pending]).toEqual([false, 2, 0]);
  });
});

describe('the end of a plugin', () => {
  it('PG-140: waits for the starts under way, which find their tasks meanwhile', async () => {
    let isThere = false;
    const starts = startsWith(async () => isThere);
    const cancelled = new Gate();
    const start = async (): Promise<void> => {
      await cancelled.opened;
      await starts.removeCancelled('t');
    };
    void starts.run(start);
    const closed = watched(starts.close());
    cancelled.open();
    await time.pass(1_000);
    expect(closed()).toBe(false);
    isThere = true;
    await time.pass(1_000);
    expect([closed(), starts.isSearching('t'), time.pending]).toEqual([true, false, 0]);
  });

  it('PG-140: does not wait for a search that nobody waits for, and ends it', async () => {
    const starts = startsWith(async () => false);
    void starts.removeCancelled('t');
    await time.pass(CANCEL_WAIT_MS + 1_000);
    const closed = watched(starts.close());
    await settle();
    expect([closed(), starts.isSearching('t'), time.pending]).toEqual([true, false, 0]);
  });

  it('PG-140: does not wait for ever for a start that hangs or fails', async () => {
    const starts = startsWith(async () => false);
    void starts.run(() => new Promise(() => {}));
    const failed = expect(starts.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    const closed = watched(starts.close());
    await time.pass(CLOSE_WAIT_MS - 1);
    expect(closed()).toBe(false);
    await time.pass(1);
    expect(closed()).toBe(true);
    await failed;
  });
});
