import { describe, expect, it } from 'vitest';
import { answeredTtlMs, baseTtlMs, DEFAULT_PACE, longestDeadlineMs } from './heartbeat-ttl.js';

describe('heartbeat TTL', () => {
  it('ND-75: up to 500 nodes 10 to 20 s, with 5000 nodes 100 to 200 s', () => {
    expect(baseTtlMs(0, DEFAULT_PACE)).toBe(10_000);
    expect(baseTtlMs(500, DEFAULT_PACE)).toBe(10_000);
    expect(baseTtlMs(501, DEFAULT_PACE)).toBeCloseTo(10_020);
    expect(answeredTtlMs(500, DEFAULT_PACE, 0)).toBe(10_000);
    expect(answeredTtlMs(500, DEFAULT_PACE, 0.999999)).toBe(19_999);
    expect(answeredTtlMs(5_000, DEFAULT_PACE, 0)).toBe(100_000);
    expect(answeredTtlMs(5_000, DEFAULT_PACE, 0.5)).toBe(150_000);
  });

  it('a deadline armed without knowing the answered TTL is never before it (ND-76)', () => {
    for (const nodes of [1, 400, 5_000])
      expect(longestDeadlineMs(nodes, DEFAULT_PACE)).toBeGreaterThanOrEqual(
        answeredTtlMs(nodes, DEFAULT_PACE, 0.999999) + DEFAULT_PACE.graceMs,
      );
  });
});
