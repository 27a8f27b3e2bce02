import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { latestSeenIndex } from './latest-seen-index.js';

const { anEval } = fixtures;

describe('the latest seen index of a job', () => {
  it('DP-720 DP-E05, ST-160: the maximum over all evaluations, in whatever order', () => {
    const evals = [
      anEval({ Status: 'complete', SnapshotIndex: 200 }),
      anEval({ Status: 'complete', SnapshotIndex: 150 }),
    ];
    expect(latestSeenIndex(evals)).toBe(200);
    expect(latestSeenIndex(evals.toReversed())).toBe(200);
  });

  it('DP-720: a pending evaluation will see at least its own index; a failed one without snapshot saw nothing', () => {
    expect(latestSeenIndex([anEval({ Status: 'pending', CreateIndex: 7 })])).toBe(7);
    expect(latestSeenIndex([anEval({ Status: 'failed', CreateIndex: 7 })])).toBe(0);
  });

  it('DP-721: a cancelled one counts for nothing', () => {
    expect(latestSeenIndex([anEval({ Status: 'canceled', SnapshotIndex: 9, CreateIndex: 9 })])).toBe(0);
  });

  it('DP-722 DP-E06, ST-160: a blocked one counts with its snapshot only, whatever the order', () => {
    const ran = anEval({ Status: 'complete', SnapshotIndex: 100, CreateIndex: 90 });
    const blocked = anEval({ Status: 'blocked', SnapshotIndex: 100, CreateIndex: 110 });
    expect(latestSeenIndex([ran, blocked])).toBe(100);
    expect(latestSeenIndex([blocked, ran])).toBe(100);
    expect(latestSeenIndex([anEval({ Status: 'blocked', CreateIndex: 110 })])).toBe(0);
  });

  it('DP-723: without evaluations it is 0', () => {
    expect(latestSeenIndex([])).toBe(0);
  });
});
