import { describe, expect, it } from 'vitest';
import { retryAfterMs } from './heartbeat-pace.js';

const TTL_MS = 20_000;
const NOW = 1_000_000;
const failedAt = (sinceSuccessMs: number | undefined, hasLeader = true) => ({
  lastSuccessMs: sinceSuccessMs === undefined ? undefined : NOW - sinceSuccessMs,
  ttlMs: TTL_MS,
  hasLeader,
});
const range = (failed: ReturnType<typeof failedAt>) => [retryAfterMs(failed, NOW, 0), retryAfterMs(failed, NOW, 1)];

describe('pace of failed heartbeats', () => {
  it('AG-34: 15 to 30 s when none ever succeeded or there is no leader', () => {
    expect(range(failedAt(undefined))).toEqual([15_000, 30_000]);
    expect(range(failedAt(1_000, false))).toEqual([15_000, 30_000]);
  });

  it('AG-34: a random part of the time left, at least 1 s', () => {
    expect(range(failedAt(5_000))).toEqual([1_000, 15_000]);
  });

  it('AG-34: 1 to 2 s when the TTL ran out up to 30 s ago', () => {
    expect(range(failedAt(TTL_MS))).toEqual([1_000, 2_000]);
    expect(range(failedAt(TTL_MS + 30_000))).toEqual([1_000, 2_000]);
  });

  it('AG-34: later a random part of the time overdue, at most 30 s', () => {
    expect(range(failedAt(TTL_MS + 30_001))).toEqual([1_000, 30_000]);
    expect(retryAfterMs(failedAt(TTL_MS + 40_000), NOW, 0.5)).toBe(20_000);
  });
});
