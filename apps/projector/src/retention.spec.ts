import { termOf } from '@waybill/roles';
import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { MAX_INTERVAL_MS, Retention } from './retention.js';

const HOUR_MS = 3_600_000;

/** @param projected what Postgres could do without */
function setup(projected: number, archivedIndex?: () => number) {
  const time = new FakeTime();
  const trimmed: number[] = [];
  const retention = new Retention({
    policy: { logMs: HOUR_MS, logIndexes: 10, historyMs: HOUR_MS, eventsMs: HOUR_MS, eventFrames: 10 },
    ...(archivedIndex && { archivedIndex }),
    streams: {
      trimLog: (below) => {
        trimmed.push(below);
        return Promise.resolve(below);
      },
      trimArchives: () => Promise.resolve(),
      limitEvents: () => Promise.resolve(),
    },
    history: { trim: () => Promise.resolve(1), expendableIndex: () => Promise.resolve(projected) },
    clock: time,
    timers: time,
    logger: silentLogger,
  });
  return { time, trimmed, retention, start: () => retention.start(termOf('projector', 1)) };
}

describe('what the log loses', () => {
  it('OP-49: where archives are put away, nothing that is not in one that was verified', async () => {
    const archive = { index: 0 };
    const { time, trimmed, retention, start } = setup(500, () => archive.index);
    start();
    await time.pass(1);
    expect(trimmed).toEqual([]);
    for (archive.index of [300, 800]) await time.pass(MAX_INTERVAL_MS);
    expect(trimmed).toEqual([301, 501]);
    await retention.stop();
  });

  it('ST-7: without archives, what Postgres holds', async () => {
    const { time, trimmed, retention, start } = setup(500);
    start();
    await time.pass(1);
    expect(trimmed).toEqual([501]);
    await retention.stop();
  });
});
