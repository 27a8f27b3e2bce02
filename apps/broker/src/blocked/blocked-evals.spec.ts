import { SimulatedTime, type Evaluation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { BlockedEvals, UNBLOCK_LOG_AGE_MS, type BlockedEval } from './blocked-evals.js';

const CLASS = 'v1:123';
let time: SimulatedTime;
let woken: BlockedEval[][];
let duplicatesSeen: number;
let blocked: BlockedEvals;

beforeEach(() => {
  time = new SimulatedTime();
  woken = [];
  duplicatesSeen = 0;
  blocked = new BlockedEvals({
    clock: time,
    timers: time,
    enqueue: (batch) => woken.push([...batch]),
    onDuplicate: () => duplicatesSeen++,
  });
  blocked.setEnabled(true);
});

let jobs = 0;
const blockedEval = (over: Partial<Evaluation> = {}): Evaluation =>
  fixtures.anEval({
    JobID: `job-${++jobs}`,
    Status: 'blocked',
    TriggeredBy: 'queued-allocs',
    SnapshotIndex: 1_000,
    CreateIndex: 1_000,
    ...over,
  });
const track = (over: Partial<Evaluation> = {}): Evaluation => {
  const evaluation = blockedEval(over);
  blocked.block(evaluation);
  return evaluation;
};
const wokenIds = (): string[] => woken.flat().map((w) => w.evaluation.ID);

describe('the missed-unblock check', () => {
  const logged = (index: number): void => blocked.unblockClass(CLASS, index);

  it('EB-159, EB-161: a class it never saw, unblocked since its snapshot, sends it back at once', () => {
    logged(1_000);
    const e = blockedEval({ SnapshotIndex: 900 });
    blocked.block(e, 'token');
    expect(woken).toEqual([[expect.objectContaining({ evaluation: e, token: 'token' })]]);
    expect(blocked.stats().totalBlocked).toBe(0);
  });

  it('EB-163: what was unblocked before its snapshot is no miss', () => {
    logged(500);
    track({ SnapshotIndex: 900 });
    expect(woken).toEqual([]);
    expect(blocked.stats().totalBlocked).toBe(1);
  });

  it('EB-161: a class it found eligible counts', () => {
    logged(1_000);
    track({ SnapshotIndex: 900, ClassEligibility: { [CLASS]: true, 'v1:456': false } });
    expect(woken).toHaveLength(1);
  });

  it('EB-162: a class it found ineligible does not, whatever the index', () => {
    logged(1_001);
    track({ SnapshotIndex: 999, ClassEligibility: { [CLASS]: false, 'v1:456': false } });
    expect(woken).toEqual([]);
  });

  it('EB-164: an escaped one misses anything', () => {
    logged(1_000);
    track({ SnapshotIndex: 900, EscapedComputedClass: true, ClassEligibility: { [CLASS]: false } });
    expect(woken).toHaveLength(1);
  });

  it('EB-160: on a quota only that quota counts', () => {
    blocked.unblockClass(CLASS, 1_000, 'my-quota');
    track({ SnapshotIndex: 900, QuotaLimitReached: 'my-quota' });
    track({ SnapshotIndex: 900, QuotaLimitReached: 'other' });
    expect(woken).toHaveLength(1);
    expect(blocked.stats()).toMatchObject({ totalBlocked: 1, totalQuotaLimit: 1 });
  });

  it('EB-165: missing resources count by name', () => {
    blocked.unblockResources(['csi-volume:default:db'], 1_000);
    track({ SnapshotIndex: 900, MissingNonNodeResources: ['csi-volume:default:db'], EscapedComputedClass: true });
    expect(woken).toHaveLength(1);
  });

  it('EB-160, EB-165: a quota or a resource that came back before the snapshot is no miss', () => {
    blocked.unblockResources(['csi-volume:default:db'], 900);
    blocked.unblockClass(CLASS, 900, 'my-quota');
    track({ SnapshotIndex: 900, MissingNonNodeResources: ['csi-volume:default:db'], EscapedComputedClass: true });
    track({ SnapshotIndex: 900, QuotaLimitReached: 'my-quota' });
    expect([woken, blocked.stats().totalBlocked]).toEqual([[], 2]);
  });

  it('EB-166: the name of a quota or a resource counts as a class never seen: that may wake for nothing, and costs one look', () => {
    blocked.unblockResources(['csi-volume:default:db'], 1_000);
    const woke = track({ SnapshotIndex: 900, ClassEligibility: { [CLASS]: false } });
    expect(woken).toMatchObject([[{ evaluation: { ID: woke.ID } }]]);
    track({ SnapshotIndex: 1_000, ClassEligibility: { [CLASS]: false } });
    expect(woken).toHaveLength(1);
  });

  it('EB-191: after 15 minutes an unblock is forgotten', () => {
    logged(1_000);
    time.advance(UNBLOCK_LOG_AGE_MS);
    blocked.prune();
    track({ SnapshotIndex: 900 });
    expect(woken).toHaveLength(1);
    time.advance(1);
    blocked.prune();
    track({ SnapshotIndex: 900 });
    expect(woken).toHaveLength(1);
  });
});

describe('EB-154, EB-155: what an earlier term left', () => {
  it('is gone: evaluations, duplicates, sums, and what was unblocked', () => {
    track({ JobID: 'web', EscapedComputedClass: true, QuotaLimitReached: 'q' });
    track({ JobID: 'web', EscapedComputedClass: true, QuotaLimitReached: 'q' });
    blocked.unblockResources(['csi-volume:default:db'], 1_000_000);
    const [duplicate] = blocked.takeDuplicates(1);
    track({ JobID: 'logs', Type: 'system', NodeID: 'n1' });
    track({ JobID: 'logs', Type: 'system', NodeID: 'n1' });
    woken = [];
    blocked.setEnabled(false);
    blocked.returnDuplicates([duplicate!]);
    expect(blocked.duplicateCount).toBe(0);
    blocked.setEnabled(true);
    expect(blocked.stats()).toEqual({ totalBlocked: 0, totalEscaped: 0, totalQuotaLimit: 0 });
    blocked.unblockNode('n1');
    const late = track({ JobID: 'web' });
    expect([woken, blocked.duplicateCount, blocked.isTracked(late.ID)]).toEqual([[], 0, true]);
  });
});

describe('totals', () => {
  it.each<[string, Partial<Evaluation>, object]>([
    ['captured', {}, { totalBlocked: 1, totalEscaped: 0, totalQuotaLimit: 0 }],
    ['escaped', { EscapedComputedClass: true }, { totalBlocked: 1, totalEscaped: 1, totalQuotaLimit: 0 }],
    ['on a quota', { QuotaLimitReached: 'q' }, { totalBlocked: 1, totalEscaped: 0, totalQuotaLimit: 1 }],
    [
      'escaped and on a quota',
      { EscapedComputedClass: true, QuotaLimitReached: 'q' },
      { totalBlocked: 1, totalEscaped: 1, totalQuotaLimit: 1 },
    ],
  ])('EB-173, EB-193: %s, counted once, and no more after it has left', (_, over, counted) => {
    const NONE = { totalBlocked: 0, totalEscaped: 0, totalQuotaLimit: 0 };
    const e = track(over);
    blocked.block(e);
    expect(blocked.stats()).toEqual(counted);
    blocked.unblockClass('v1:any', 2_000, over.QuotaLimitReached ?? '');
    expect([wokenIds(), blocked.stats()]).toEqual([[e.ID], NONE]);
    const other = track({ ...over, SnapshotIndex: 3_000 });
    blocked.untrack(other.Namespace, other.JobID);
    expect(blocked.stats()).toEqual(NONE);
  });
});

describe('one per job', () => {
  it('EB-167, EB-169, EB-173: the newer one stays, the other becomes a duplicate; totals follow', () => {
    const old = track({ JobID: 'web', EscapedComputedClass: true });
    const newer = track({ JobID: 'web', SnapshotIndex: 1_100 });
    expect(blocked.takeDuplicates(10)).toEqual([old]);
    expect(duplicatesSeen).toBe(1);
    expect(blocked.isTracked(newer.ID)).toBe(true);
    expect(blocked.stats()).toEqual({ totalBlocked: 1, totalEscaped: 0, totalQuotaLimit: 0 });
  });

  it('EB-167: on a tie the newcomer stays', () => {
    track({ JobID: 'web' });
    const newcomer = track({ JobID: 'web' });
    expect(blocked.isTracked(newcomer.ID)).toBe(true);
  });

  it('EB-168: an older newcomer is the duplicate', () => {
    const first = track({ JobID: 'web', SnapshotIndex: 1_100 });
    const older = track({ JobID: 'web' });
    expect(blocked.takeDuplicates(10)).toEqual([older]);
    expect(blocked.isTracked(first.ID)).toBe(true);
  });

  it('EB-170: the same id again replaces its entry and is no duplicate', () => {
    const e = track({ JobID: 'web' });
    blocked.block({ ...e, ClassEligibility: { [CLASS]: false } }, 'token');
    expect(blocked.takeDuplicates(10)).toEqual([]);
    blocked.unblockClass(CLASS, 2_000);
    expect(woken).toEqual([]);
    blocked.unblockClass('v1:other', 2_001);
    expect(woken[0]?.[0]?.token).toBe('token');
  });

  it('EB-172: blocked system evaluations of one job on two nodes are two units', () => {
    track({ JobID: 'logs', Type: 'system', NodeID: 'n1' });
    track({ JobID: 'logs', Type: 'system', NodeID: 'n2' });
    expect(blocked.stats().totalBlocked).toBe(2);
    track({ JobID: 'logs', Type: 'system', NodeID: 'n1', SnapshotIndex: 1_100 });
    expect(blocked.takeDuplicates(10)).toHaveLength(1);
  });

  it('EB-53: equal job ids of two namespaces are two jobs', () => {
    track({ JobID: 'web' });
    track({ JobID: 'web', Namespace: 'other' });
    expect(blocked.stats().totalBlocked).toBe(2);
  });
});

describe('unblock', () => {
  it('EB-176, EB-177: wakes the escaped and all that do not know the class as ineligible, as one batch (EB-184)', () => {
    const escaped = track({ EscapedComputedClass: true });
    const eligible = track({ ClassEligibility: { [CLASS]: true } });
    const unseen = track({ ClassEligibility: { 'v1:456': false } });
    const ineligible = track({ ClassEligibility: { [CLASS]: false } });
    blocked.unblockClass(CLASS, 2_000);
    expect(woken).toHaveLength(1);
    expect(wokenIds().toSorted()).toEqual([escaped.ID, eligible.ID, unseen.ID].toSorted());
    expect(blocked.isTracked(ineligible.ID)).toBe(true);
  });

  it('EB-178, EB-179: with a quota, those blocked on another one stay', () => {
    const other = track({ QuotaLimitReached: 'other' });
    const same = track({ QuotaLimitReached: 'mine' });
    const none = track();
    blocked.unblockClass(CLASS, 2_000, 'mine');
    expect(wokenIds().toSorted()).toEqual([same.ID, none.ID].toSorted());
    expect(blocked.isTracked(other.ID)).toBe(true);
  });

  it('EB-181: a node wakes the system evaluations that wait for it, and only those', () => {
    const here = track({ JobID: 'a', Type: 'system', NodeID: 'n1' });
    track({ JobID: 'b', Type: 'system', NodeID: 'n2' });
    track({ JobID: 'c', Type: 'sysbatch', NodeID: 'n1' });
    blocked.unblockNode('n1');
    expect(wokenIds()).toEqual([here.ID]);
  });

  it('EB-182: what was woken one way is not woken a second time', () => {
    track({ Type: 'system', NodeID: 'n1' });
    blocked.unblockClass(CLASS, 2_000);
    blocked.unblockNode('n1');
    expect(wokenIds()).toHaveLength(1);
  });

  it('EB-183: names wake exactly those that miss one of them', () => {
    const misses = track({ EscapedComputedClass: true, MissingNonNodeResources: ['csi-volume:default:a', 'x'] });
    track({ EscapedComputedClass: true });
    blocked.unblockResources(['csi-volume:default:a'], 2_000);
    expect(wokenIds()).toEqual([misses.ID]);
  });

  it('EB-186: losers of races are tried again, others stay', () => {
    const lost = track({ TriggeredBy: 'max-plan-attempts' });
    track();
    blocked.unblockFailed();
    expect(wokenIds()).toEqual([lost.ID]);
  });
});

describe('untrack and disabling', () => {
  it('EB-187, EB-188, EB-193: untrack forgets all of the job, on every node, and it can block again', () => {
    track({ JobID: 'logs', Type: 'system', NodeID: 'n1', EscapedComputedClass: true });
    track({ JobID: 'logs', Type: 'system', NodeID: 'n2' });
    blocked.untrack('default', 'logs');
    blocked.untrack('default', 'unknown');
    expect(blocked.stats()).toEqual({ totalBlocked: 0, totalEscaped: 0, totalQuotaLimit: 0 });
    track({ JobID: 'logs', Type: 'system', NodeID: 'n1' });
    blocked.untrack('default', 'logs');
    expect(blocked.stats().totalBlocked).toBe(0);
  });

  it('EB-154: disabled it takes in nothing and has forgotten everything, its log too', () => {
    track();
    blocked.unblockClass(CLASS, 2_000);
    blocked.setEnabled(false);
    track();
    blocked.unblockClass(CLASS, 3_000);
    expect(blocked.stats().totalBlocked).toBe(0);
    blocked.setEnabled(true);
    track();
    expect(blocked.stats().totalBlocked).toBe(1);
  });
});
