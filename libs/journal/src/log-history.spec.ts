import type { LogMark } from '@waybill/state';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LogReplacedError, LogRewoundError, LogUnavailableError } from './errors.js';
import { COMPARE_INTERVAL_MS, LogHistory } from './log-history.js';

const mark = (index: number, history = 'a'): LogMark => ({ index, requestId: `${history}-${index}`, timeNs: index });

/** A log whose transactions are of a history, up to an index, and the connection to it. */
class World {
  up = true;
  history = 'a';
  last = 9;
  copies = 1;
  asked = 0;
  private listener: (up: boolean) => void = () => {};

  readonly log = new LogHistory(
    {
      get up() {
        return world.up;
      },
      onChange: (listener) => {
        this.listener = listener;
        return () => {};
      },
    },
    {
      info: async () => {
        this.asked += 1;
        return { state: { first_seq: 1, last_seq: this.last }, config: { num_replicas: this.copies } };
      },
      markAt: async (index) => mark(index, this.history),
    },
  );

  /** NATS goes, and is back. */
  reconnect(): void {
    for (const up of [false, true]) {
      this.up = up;
      this.listener(up);
    }
  }
}

let world: World;
beforeEach(() => {
  vi.useFakeTimers();
  world = new World();
});
afterEach(() => {
  world.log.close();
  vi.useRealTimers();
});

/** What becomes of a write. */
async function written(): Promise<unknown> {
  try {
    await world.log.gate();
    return 'written';
  } catch (error) {
    return error;
  }
}

it('a write waits until the log was compared on this connection, and then for nothing', async () => {
  world.log.recordMark(mark(9));
  expect(world.log.gate()).toBeInstanceOf(Promise);
  expect(await written()).toBe('written');
  expect(world.log.gate()).toBeUndefined();
  world.reconnect();
  expect(world.log.gate()).toBeInstanceOf(Promise);
});

it('ST-1: nothing is written to a log that came back shorter, and who follows is told once', async () => {
  const told: Error[] = [];
  world.log.onDivergence((error) => told.push(error));
  world.log.recordMark(mark(9));
  await written();
  world.last = 7;
  world.reconnect();
  await vi.advanceTimersByTimeAsync(0);
  expect(told).toEqual([expect.any(LogRewoundError)]);
  expect(await written()).toBeInstanceOf(LogUnavailableError);
  expect(await written()).toMatchObject({ message: expect.stringContaining('waybill operator log status') });
  expect(told).toHaveLength(1);
});

it('ST-1: nor to one that has grown again since', async () => {
  world.log.recordMark(mark(9));
  await written();
  world.history = 'b';
  world.last = 12;
  world.reconnect();
  await vi.advanceTimersByTimeAsync(0);
  expect(world.log.divergence).toBeInstanceOf(LogReplacedError);
});

it('ST-1: a log that loses its end without a lost connection is noticed within a second', async () => {
  world.log.recordMark(mark(9));
  await written();
  world.last = 7;
  await vi.advanceTimersByTimeAsync(COMPARE_INTERVAL_MS);
  expect(world.log.divergence).toBeInstanceOf(LogRewoundError);
});

it('ST-1: what the database has applied counts where nothing was read from the log', async () => {
  world.log.compareWith(() => Promise.resolve(mark(12)));
  expect(await written()).toBeInstanceOf(LogUnavailableError);
  expect(world.log.divergence).toBeInstanceOf(LogRewoundError);
});

it('a database that does not answer holds no write up', async () => {
  world.log.compareWith(() => Promise.reject(new Error('down')));
  expect(await written()).toBe('written');
});

it('ST-1: a database that did not answer is asked again until it has', async () => {
  let answers = false;
  world.log.compareWith(async () => (answers ? mark(12) : Promise.reject(new Error('down'))));
  expect(await written()).toBe('written');
  answers = true;
  await vi.advanceTimersByTimeAsync(COMPARE_INTERVAL_MS);
  expect(world.log.divergence).toBeInstanceOf(LogRewoundError);
});

it('once it has answered on a connection it is not asked again', async () => {
  let asked = 0;
  world.log.compareWith(async () => {
    asked++;
    return mark(9);
  });
  await written();
  await vi.advanceTimersByTimeAsync(3 * COMPARE_INTERVAL_MS);
  expect(asked).toBe(1);
});

it('after a decision the log is compared with what was decided', async () => {
  world.log.recordMark(mark(9));
  world.last = 7;
  world.reconnect();
  await vi.advanceTimersByTimeAsync(0);
  world.log.recordMark(mark(20)); // of whom does not know yet
  world.log.accept(mark(7));
  expect(await written()).toBe('written');
  expect(world.log.mark).toEqual(mark(7));
});
