import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_TRACKED_NODES, RejectionTracker, REPORT_BURST, REPORT_PERIOD_MS } from './rejection-tracker.js';

let time: SimulatedTime;
beforeEach(() => (time = new SimulatedTime()));

const on = (over: { nodeThreshold?: number; nodeWindowMs?: number } = {}): RejectionTracker =>
  new RejectionTracker(time, { enabled: true, nodeThreshold: 3, nodeWindowMs: 60_000, ...over });

describe('the rejection tracker', () => {
  it('EB-282: off, it remembers nothing and reports no node', () => {
    const tracker = new RejectionTracker(time, { nodeThreshold: 1 });
    expect(tracker.add('a')).toBe(false);
    expect([...tracker.scores()]).toEqual([]);
  });

  it('EB-283, EB-284: the record that reaches the threshold makes the node bad', () => {
    const tracker = on();
    expect(['a', 'a', 'b', 'a'].map((id) => tracker.add(id))).toEqual([false, false, false, true]);
  });

  it("EB-284: a record at the window's edge counts, one before it does not", () => {
    const tracker = on();
    tracker.add('a');
    tracker.add('a');
    time.advance(60_000);
    expect(tracker.add('a')).toBe(true);
    time.advance(1);
    expect(tracker.add('a')).toBe(false);
  });

  it('EB-285: older records are dropped', () => {
    const tracker = on({ nodeThreshold: 100 });
    for (let i = 0; i < 3; i++) tracker.add('a');
    time.advance(30_000);
    tracker.add('a');
    time.advance(31_000);
    expect(tracker.score('a')).toBe(1);
    time.advance(59_000);
    expect(tracker.score('a')).toBe(0);
  });

  it('EB-286: ten nodes in a burst, then five per half an hour; a node not reported keeps its records', () => {
    const tracker = on({ nodeThreshold: 1, nodeWindowMs: 10 * REPORT_PERIOD_MS });
    const reported = Array.from({ length: 15 }, (_, i) => tracker.add(`n${i}`)).filter(Boolean);
    expect(reported).toHaveLength(REPORT_BURST);
    expect(tracker.score('n14')).toBe(1);
    time.advance(REPORT_PERIOD_MS);
    expect(Array.from({ length: 15 }, (_, i) => tracker.add(`n${i}`)).filter(Boolean)).toHaveLength(5);
  });

  it('EB-287: at most fifty nodes; the one rejected longest ago goes', () => {
    const tracker = on();
    for (let i = 0; i < MAX_TRACKED_NODES; i++) tracker.add(`n${i}`);
    tracker.add('n0');
    tracker.add('new');
    expect([...tracker.scores()]).toHaveLength(MAX_TRACKED_NODES);
    expect(tracker.score('n0')).toBe(2);
    expect(tracker.score('n1')).toBe(0);
  });

  it('EB-290: a window of nothing is refused', () => {
    expect(() => on({ nodeWindowMs: 0 })).toThrow('plan_rejection_tracker.node_window must be greater than 0');
  });
});
