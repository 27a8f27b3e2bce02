import { describe, expect, it } from 'vitest';
import { readLogRequest } from './log-request.js';

describe('what is asked of the log', () => {
  it.each(['9223372036854775808', '9999999999999999999', '9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z'])(
    'API-265: %s is a time, though the log has none so far away: one that the read model can compare with',
    (text) => {
      const { sinceNs = Number.NaN, untilNs = Number.NaN } = readLogRequest({ since: text, until: text });
      for (const ns of [sinceNs, untilNs]) expect(BigInt(ns)).toBe(BigInt.asIntN(64, BigInt(ns)));
    },
  );
});
