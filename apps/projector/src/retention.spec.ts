import { termOf } from '@waybill/roles';
import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { MAX_INTERVAL_MS, Retention } from './retention.js';

const HOUR_MS = 3_600_000;

/** @param projected what Postgres could do without */
function setup(projected: number, archive?: { verifiedIndex: number }) {
  const time = new FakeTime();
  const trimmed: number[] = [];
  const steps: string[] = [];
  const erasing = { before: 0, fails: false };
  let first = 1;
  const retention = new Retention({
    policy: { logMs: HOUR_MS, logIndexes: 10, historyMs: HOUR_MS, eventsMs: HOUR_MS, eventFrames: 10 },
    ...(archive && {
      archives: {
        get verifiedIndex() {
          return archive.verifiedIndex;
        },
        replaceBelow: async (index) => {
          steps.push(`archives below ${index}`);
        },
      },
    }),
    streams: {
      trimLog: (below) => {
        trimmed.push(below);
        steps.push(`log below ${below}`);
        first = below;
        return Promise.resolve(below);
      },
      trimArchives: () => Promise.resolve(),
      limitEvents: () => Promise.resolve(),
      firstIndex: () => Promise.resolve(first),
      removeEventsBelow: async (index) => {
        if (erasing.fails) throw new Error('EVENTS is down');
        steps.push(`events below ${index}`);
      },
    },
    history: {
      trim: () => Promise.resolve(1),
      expendableIndex: () => Promise.resolve(projected),
      erasedBefore: () => Promise.resolve(erasing.before),
    },
    clock: time,
    timers: time,
    logger: silentLogger,
  });
  return { time, trimmed, steps, erasing, retention, start: () => retention.start(termOf('projector', 1)) };
}

describe('what the log loses', () => {
  it('OP-49: where archives are put away, nothing that is not in one that was verified', async () => {
    const archive = { verifiedIndex: 0 };
    const { time, trimmed, retention, start } = setup(500, archive);
    start();
    await time.pass(1);
    expect(trimmed).toEqual([]);
    for (archive.verifiedIndex of [300, 800]) await time.pass(MAX_INTERVAL_MS);
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

  it('ST-186: an erasure that fails is tried again, and what is too old goes nevertheless', async () => {
    const { time, trimmed, erasing, retention, start } = setup(500);
    erasing.before = 700;
    erasing.fails = true;
    start();
    await time.pass(1);
    expect(trimmed).toEqual([501]);
    erasing.fails = false;
    await time.pass(MAX_INTERVAL_MS);
    expect(trimmed).toEqual([501, 501, 700]);
    await retention.stop();
  });

  it('ST-186: what a user has had erased, at once and once: first archives and events, and the log as the last', async () => {
    const { time, steps, erasing, retention, start } = setup(0, { verifiedIndex: 0 });
    start();
    await time.pass(1);
    erasing.before = 700;
    retention.checkNow();
    await time.pass(1);
    const all = ['archives below 700', 'events below 700', 'log below 700'];
    expect(steps).toEqual(all);
    await time.pass(2 * MAX_INTERVAL_MS);
    expect(steps).toEqual(all);
    await retention.stop();
  });
});
