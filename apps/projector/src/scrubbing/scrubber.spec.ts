import { LogUnavailableError, type RawMessage } from '@waybill/journal';
import { FakeTime } from '@waybill/model';
import type { HashedBlock, ScrubStanding } from '@waybill/projection';
import { termOf } from '@waybill/roles';
import type { Logger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { BLOCK_TXNS } from './block-reading.js';
import { CONFIRM_MS } from './scrub-pass.js';
import { SCRUB_RETRY_MS, Scrubber } from './scrubber.js';

const HOUR_MS = 3_600_000;
const BODY_BYTES = 1_000;
/** A second for a thousand messages, a block in about one. */
const RATE = 1_000_000;

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

function recorded(lines: Line[]): Logger {
  const at =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}): void =>
      void lines.push({ level, message, fields });
  const ignored = (): void => {};
  const logger = { trace: ignored, debug: ignored, info: at('info'), warn: at('warn'), error: at('error') };
  return { ...logger, with: () => recorded(lines) };
}

/** A log of one copy, or of several that can be damaged each by itself, and a memory like Postgres. */
function setup(last = 3 * BLOCK_TXNS, copies: readonly string[] = []) {
  const time = new FakeTime();
  const state = {
    first: 1,
    last,
    applied: last,
    isSame: true,
    down: false,
    /** Left out by the server, and answered with another body; by copy where there are several. */
    unreadable: new Map<number, string>(),
    bodies: new Map<number, string>(),
    read: [] as number[],
    opened: [] as string[],
    open: 0,
  };
  const blocks = new Map<number, HashedBlock>();
  let standing: ScrubStanding = { next: 1, pass: 0, endedAtMs: 0 };
  const lines: Line[] = [];
  const messageAt = (index: number): RawMessage => ({
    index,
    headers: '',
    body: (state.bodies.get(index) ?? `${index}`).padEnd(BODY_BYTES),
  });
  const up = <T>(answer: () => T): Promise<T> =>
    state.down ? Promise.reject(new LogUnavailableError('NATS is down')) : Promise.resolve(answer());
  const options = {
    log: {
      bounds: () => up(() => ({ first: state.first, last: state.last })),
      copies: () => up(() => copies),
      open: (from: number, copy = '') =>
        up(() => {
          state.opened.push(copy);
          state.open += 1;
          let at = from;
          return {
            server: copy,
            next: (max: number) =>
              up(() => {
                const messages: RawMessage[] = [];
                for (at = Math.max(at, state.first); at <= state.last && messages.length < Math.min(max, 256); at++)
                  if (state.unreadable.get(at) !== copy) messages.push(messageAt(at));
                state.read.push(...messages.map(({ index }) => index));
                return messages;
              }),
            close: () => Promise.resolve(void (state.open -= 1)),
          };
        }),
    },
    memory: {
      appliedIndex: () => Promise.resolve(state.applied),
      standing: () => Promise.resolve(standing),
      begin: (first: number, given: ScrubStanding) => {
        for (const block of blocks.values()) if (block.last < first) blocks.delete(block.first);
        standing = given;
        return Promise.resolve();
      },
      block: (first: number) => Promise.resolve(blocks.get(first)),
      save: (block: HashedBlock, given: ScrubStanding) => {
        blocks.set(block.first, block);
        standing = given;
        return Promise.resolve();
      },
      end: (given: ScrubStanding) => Promise.resolve(void (standing = given)),
      damage: () =>
        Promise.resolve({
          unreadable: [...blocks.values()].reduce((sum, { unreadable }) => sum + unreadable, 0),
          changedBlocks: [...blocks.values()].filter(({ isChanged }) => isChanged).length,
        }),
    },
    bytesPerSecond: RATE,
    intervalMs: HOUR_MS,
    isSameLog: () => Promise.resolve(state.isSame),
    clock: time,
    monotonic: time,
    timers: time,
    logger: recorded(lines),
  };
  let held = true;
  const begin = (): Scrubber => {
    const scrubber = new Scrubber(options);
    scrubber.start(termOf('projector', 1, { isCurrent: () => held }));
    return scrubber;
  };
  const errors = (): unknown[] => lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['indexes']);
  return { time, state, blocks, begin, errors, lines, lose: () => (held = false) };
}

const PASS_MS = 3 * BLOCK_TXNS + 100;
const NEXT_PASS_MS = HOUR_MS + 2 * PASS_MS + 2 * CONFIRM_MS;

describe('the scrubber', () => {
  it('reads the whole log at its rate, pauses, and reads it again', async () => {
    const { time, state, begin, blocks, errors } = setup();
    const scrubber = begin();
    await time.pass(1_000);
    expect(state.read.length).toBeGreaterThan(900);
    expect(state.read.length).toBeLessThan(1_400);
    await time.pass(PASS_MS - 1_000);
    expect(state.read).toEqual(Array.from({ length: 3 * BLOCK_TXNS }, (_, i) => i + 1));
    expect([...blocks.keys()]).toEqual([1, 1 + BLOCK_TXNS, 1 + 2 * BLOCK_TXNS]);
    await time.pass(HOUR_MS - PASS_MS);
    expect(state.read).toHaveLength(3 * BLOCK_TXNS);
    await time.pass(2 * PASS_MS);
    expect(state.read).toHaveLength(6 * BLOCK_TXNS);
    expect([scrubber.stats()['scrubPasses'], errors(), state.open]).toEqual([2, [], 0]);
    await scrubber.stop();
    expect(time.pending).toBe(0);
  });

  it('goes on where the holder before was, and pauses for the rest of its pause', async () => {
    const { time, state, begin } = setup();
    const first = begin();
    await time.pass(1_500);
    await first.stop();
    expect(state.open).toBe(0);
    state.read = [];
    const second = begin();
    await time.pass(PASS_MS);
    expect([state.read[0], state.read.at(-1)]).toEqual([1 + BLOCK_TXNS, 3 * BLOCK_TXNS]);
    await time.pass(HOUR_MS / 2);
    await second.stop();
    state.read = [];
    const third = begin();
    await time.pass(HOUR_MS / 2 - 2 * PASS_MS);
    expect(state.read).toEqual([]);
    await time.pass(2 * PASS_MS);
    expect(state.read[0]).toBe(1);
    await third.stop();
  });

  it('stops at once without the role', async () => {
    const { time, state, begin, blocks, lose } = setup();
    const scrubber = begin();
    await time.pass(100);
    lose();
    await time.pass(PASS_MS);
    expect([blocks.size, state.open]).toEqual([0, 0]);
    await scrubber.stop();
    expect(time.pending).toBe(0);
  });

  it('a message that NATS leaves out is told once, counted until it can be read again, and by the next holder too', async () => {
    const { time, state, begin, errors, lines } = setup();
    const scrubber = begin();
    await time.pass(PASS_MS);
    state.unreadable.set(1_500, '').set(3 * BLOCK_TXNS, '');
    await time.pass(NEXT_PASS_MS);
    expect(errors()).toEqual(['1500', `${3 * BLOCK_TXNS}`]);
    expect(scrubber.stats()['logUnreadable']).toBe(2);
    await time.pass(NEXT_PASS_MS);
    expect(errors()).toHaveLength(2);
    await scrubber.stop();
    expect(scrubber.stats()['logUnreadable']).toBe(0);
    const next = begin();
    await time.pass(1);
    expect(next.stats()['logUnreadable']).toBe(2);
    state.unreadable.clear();
    await time.pass(NEXT_PASS_MS);
    expect(next.stats()['logUnreadable']).toBe(0);
    expect(lines.filter(({ level }) => level === 'info')).toHaveLength(2);
    await next.stop();
  });

  it('a message that is not what it was is told with its block', async () => {
    const { time, state, begin, errors } = setup();
    const scrubber = begin();
    await time.pass(PASS_MS);
    state.bodies.set(1_500, 'other');
    await time.pass(NEXT_PASS_MS);
    expect(errors()).toEqual(['1025-2048']);
    expect(scrubber.stats()['logChangedBlocks']).toBe(1);
    await scrubber.stop();
  });

  it('a message that is missing once and there at the second look is no damage', async () => {
    const { time, state, begin, errors, blocks } = setup();
    state.unreadable.set(1_500, '');
    const scrubber = begin();
    await time.pass(2_500);
    state.unreadable.clear();
    await time.pass(PASS_MS + CONFIRM_MS);
    expect([errors(), scrubber.stats()['scrubPasses'], blocks.size]).toEqual([[], 1, 3]);
    await scrubber.stop();
  });

  it('a log that is trimmed, before or while it is read, is not damaged', async () => {
    const { time, state, begin, errors, blocks } = setup();
    const scrubber = begin();
    await time.pass(300);
    state.first = 700;
    await time.pass(PASS_MS + CONFIRM_MS);
    expect([errors(), scrubber.stats()['scrubPasses']]).toEqual([[], 1]);
    state.first = 1_500;
    await time.pass(NEXT_PASS_MS);
    expect([errors(), scrubber.stats()['scrubPasses']]).toEqual([[], 2]);
    expect([...blocks.keys()]).toEqual([1 + BLOCK_TXNS, 1 + 2 * BLOCK_TXNS]);
    await scrubber.stop();
  });

  it('damage that was trimmed is over', async () => {
    const { time, state, begin } = setup();
    state.unreadable.set(5, '');
    const scrubber = begin();
    await time.pass(PASS_MS + 2 * CONFIRM_MS);
    expect(scrubber.stats()['logUnreadable']).toBe(1);
    state.first = 1 + BLOCK_TXNS;
    await time.pass(NEXT_PASS_MS);
    expect(scrubber.stats()['logUnreadable']).toBe(0);
    await scrubber.stop();
  });

  it('another log is no damage, and neither is one that is not projected yet', async () => {
    const { time, state, begin, errors, lines } = setup();
    state.applied = 2_000;
    const scrubber = begin();
    await time.pass(PASS_MS);
    expect(Math.max(...state.read)).toBe(2_000);
    for (let index = 1_500; index <= state.last; index++) state.bodies.set(index, 'of another history');
    state.isSame = false;
    await time.pass(NEXT_PASS_MS);
    expect(errors()).toEqual([]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 'warn' }));
    await scrubber.stop();
  });

  it('each pass reads another copy, and names the one that is damaged', async () => {
    const { time, state, begin, lines } = setup(BLOCK_TXNS, ['a', 'b', 'c']);
    state.unreadable.set(9, 'b');
    const scrubber = begin();
    for (let pass = 0; pass < 3; pass++) await time.pass(NEXT_PASS_MS);
    expect(new Set(state.opened)).toEqual(new Set(['a', 'b', 'c']));
    const [found] = lines.filter(({ level }) => level === 'error');
    expect(found?.fields).toMatchObject({ indexes: '9', server: 'b' });
    await scrubber.stop();
  });

  it('waits for NATS, and says so once', async () => {
    const { time, state, begin, lines } = setup();
    state.down = true;
    const scrubber = begin();
    await time.pass(10 * SCRUB_RETRY_MS);
    expect(lines.map(({ level }) => level)).toEqual(['warn']);
    state.down = false;
    await time.pass(SCRUB_RETRY_MS + PASS_MS);
    expect(scrubber.stats()['scrubPasses']).toBe(1);
    await scrubber.stop();
  });
});
