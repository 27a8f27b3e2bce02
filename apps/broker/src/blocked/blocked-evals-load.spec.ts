import { SimulatedTime, type AllocMetric, type Evaluation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { BlockedEvals, DEFER_ABOVE, type BlockedEval } from './blocked-evals.js';
import { BlockedResources, ZERO_SUM_AGE_MS, type BlockedSum } from './blocked-resources.js';

let time: SimulatedTime;
let woken: BlockedEval[][];
let blocked: BlockedEvals;
let jobs: number;

beforeEach(() => {
  time = new SimulatedTime();
  woken = [];
  jobs = 0;
  blocked = new BlockedEvals({
    clock: time,
    timers: time,
    enqueue: (batch) => woken.push([...batch]),
    onDuplicate: () => {},
  });
  blocked.setEnabled(true);
});

const blockedEval = (over: Partial<Evaluation> = {}): Evaluation =>
  fixtures.anEval({ JobID: `job-${++jobs}`, Status: 'blocked', SnapshotIndex: 1_000, CreateIndex: 1_000, ...over });
const track = (over: Partial<Evaluation> = {}): Evaluation => {
  const evaluation = blockedEval(over);
  blocked.block(evaluation);
  return evaluation;
};
const trackMany = (count: number): Evaluation[] => Array.from({ length: count }, () => track());
const wokenIds = (): string[] => woken.flat().map((w) => w.evaluation.ID);

describe('with much to look at', () => {
  it('EB-157 (F36): issuing an unblock looks at nothing, and all that came meanwhile are one pass', () => {
    const evals = trackMany(10_000);
    for (let i = 0; i < 144; i++) blocked.unblockClass(`v1:${i}`, 2_000 + i);
    expect(woken).toEqual([]);
    time.advance(0);
    expect(woken).toHaveLength(1);
    expect(wokenIds()).toHaveLength(evals.length);
    expect(time.armedCount).toBe(0);
  });

  it('EB-157: the log knows of an unblock at once, before its turn', () => {
    trackMany(DEFER_ABOVE + 1);
    blocked.unblockClass('v1:new', 5_000);
    blocked.setEnabled(true);
    const late = track({ SnapshotIndex: 4_000 });
    time.advance(0);
    expect(wokenIds()).toContain(late.ID);
    expect(blocked.stats().totalBlocked).toBe(0);
  });

  it('EB-157: up to the limit an unblock takes effect at once', () => {
    const evals = trackMany(DEFER_ABOVE);
    blocked.unblockClass('v1:1', 2_000);
    expect(wokenIds()).toHaveLength(evals.length);
    expect(time.armedCount).toBe(0);
  });

  it('EB-176, EB-179: unblocks that share a pass wake what any of them helps, each with its own quota', () => {
    const only = (eligible: string, over: Partial<Evaluation> = {}) => {
      const others = ['v1:a', 'v1:b'].filter((one) => one !== eligible).map((one) => [one, false]);
      return track({ ClassEligibility: Object.fromEntries(others), ...over });
    };
    for (let i = 0; i <= DEFER_ABOVE; i++) track({ ClassEligibility: { 'v1:a': false, 'v1:b': false } });
    const [a, b] = [only('v1:a'), only('v1:b')];
    const quota = only('v1:a', { QuotaLimitReached: 'second' });
    only('v1:b', { QuotaLimitReached: 'second' });
    blocked.unblockClass('v1:a', 2_000, 'first');
    blocked.unblockClass('v1:a', 2_000, 'second');
    blocked.unblockClass('v1:b', 2_000, 'first');
    time.advance(0);
    expect(wokenIds().toSorted()).toEqual([a.ID, b.ID, quota.ID].toSorted());
  });

  it('EB-156, F17: block after unblock and unblock after block keep their order', () => {
    trackMany(DEFER_ABOVE + 1);
    blocked.unblockClass('v1:a', 5_000);
    const after = track({ SnapshotIndex: 6_000 });
    blocked.untrack('default', after.JobID);
    const again = track({ SnapshotIndex: 6_000 });
    time.advance(0);
    expect(blocked.isTracked(again.ID)).toBe(true);
    expect(blocked.isTracked(after.ID)).toBe(false);
    expect(blocked.stats().totalBlocked).toBe(1);
  });

  it('EB-154, EB-155: disabling forgets what waits for its turn, and stops its timer', () => {
    trackMany(DEFER_ABOVE + 1);
    blocked.unblockClass('v1:a', 5_000);
    blocked.setEnabled(false);
    blocked.setEnabled(false);
    expect(time.armedCount).toBe(0);
    blocked.setEnabled(true);
    blocked.setEnabled(true);
    track();
    time.advance(1_000);
    expect(woken).toEqual([]);
    expect(blocked.stats().totalBlocked).toBe(1);
  });
});

describe('kinds', () => {
  it('EB-158: escaped is what says so, everything else is captured', () => {
    track({ EscapedComputedClass: true });
    track({ ClassEligibility: { 'v1:1': true } });
    track();
    expect(blocked.stats()).toMatchObject({ totalBlocked: 3, totalEscaped: 1 });
  });

  it('EB-180: a quota wakes an escaped evaluation that is blocked on it', () => {
    const e = track({ EscapedComputedClass: true, QuotaLimitReached: 'q' });
    blocked.unblockClass('v1:1', 2_000, 'q');
    expect(wokenIds()).toEqual([e.ID]);
  });

  it('EB-185: what is woken is still blocked', () => {
    track();
    blocked.unblockClass('v1:1', 2_000);
    expect(woken.flat().map((w) => w.evaluation.Status)).toEqual(['blocked']);
  });
});

const metric = (over: Partial<AllocMetric>): AllocMetric =>
  ({
    NodePool: 'default',
    NodesAvailable: { dc1: 3 },
    ClassExhausted: null,
    ResourcesExhausted: null,
    ...over,
  }) as never;
const resources = (CPU: number, MemoryMB: number) => ({ web: { CPU, MemoryMB } as never });
const plain = (sums: Iterable<BlockedSum>) =>
  [...sums].map(({ labels, cpuMhz, memoryMB }) => ({ ...labels, cpuMhz, memoryMB }));

describe('what is missing', () => {
  it('EB-194: once by job, and in full for each datacenter, class and pool', () => {
    track({
      JobID: 'web',
      FailedTGAllocs: {
        a: metric({
          NodesAvailable: { dc1: 1, dc2: 1 },
          ClassExhausted: { large: 1 },
          ResourcesExhausted: resources(100, 10),
        }),
        b: metric({ ResourcesExhausted: resources(50, 5) }),
      },
    });
    const sum = { cpuMhz: 150, memoryMB: 15 };
    expect(plain(blocked.resources.byJob())).toEqual([{ namespace: 'default', job: 'web', ...sum }]);
    const place = (datacenter: string, node_class: string) => ({
      datacenter,
      node_class,
      node_pool: 'default',
      ...sum,
    });
    expect(plain(blocked.resources.byPlace())).toEqual([
      place('dc1', 'large'),
      place('dc1', ''),
      place('dc2', 'large'),
      place('dc2', ''),
    ]);
  });

  it('EB-193, EB-195: whatever was blocked and untracked, the sums are those of what is tracked', () => {
    let seed = 7;
    const pick = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n;
    const tracked = new Map<string, Evaluation>();
    for (let step = 0; step < 400; step++) {
      const JobID = `job-${pick(12)}`;
      if (pick(3) === 0) {
        blocked.untrack('default', JobID);
        tracked.delete(JobID);
      } else {
        const FailedTGAllocs = {
          g: metric({ NodesAvailable: { [`dc${pick(2)}`]: 1 }, ResourcesExhausted: resources(pick(9), pick(9)) }),
        };
        tracked.set(JobID, track({ JobID, FailedTGAllocs, CreateIndex: 2_000 + step }));
      }
      const scratch = new BlockedResources(time);
      for (const e of tracked.values()) scratch.add(e);
      const nonZero = (sums: Iterable<BlockedSum>) =>
        plain(sums)
          .filter((s) => s.cpuMhz !== 0 || s.memoryMB !== 0)
          .map((s) => JSON.stringify(s))
          .toSorted();
      expect(nonZero(blocked.resources.byJob())).toEqual(nonZero(scratch.byJob()));
      expect(nonZero(blocked.resources.byPlace())).toEqual(nonZero(scratch.byPlace()));
      expect(blocked.stats().totalBlocked).toBe(tracked.size);
    }
  });

  it('EB-194: of what says nothing of resources or nodes, nothing is missing there', () => {
    const lacks = metric({ NodesAvailable: null as never, ResourcesExhausted: resources(0, 5) });
    track({ JobID: 'web', FailedTGAllocs: { a: metric({}), b: lacks } });
    track({ JobID: 'idle', FailedTGAllocs: { a: metric({}) } });
    expect(plain(blocked.resources.byJob())).toEqual([{ namespace: 'default', job: 'web', cpuMhz: 0, memoryMB: 5 }]);
    time.advance(ZERO_SUM_AGE_MS + 1);
    blocked.prune();
    expect(plain(blocked.resources.byJob())).toHaveLength(1);
  });

  it('EB-192: a sum that has been zero for 15 minutes is removed, another one stays', () => {
    const FailedTGAllocs = { g: metric({ ResourcesExhausted: resources(1, 1) }) };
    track({ JobID: 'gone', FailedTGAllocs });
    track({ JobID: 'there', FailedTGAllocs });
    blocked.untrack('default', 'gone');
    time.advance(ZERO_SUM_AGE_MS);
    blocked.prune();
    expect(plain(blocked.resources.byJob())).toHaveLength(2);
    time.advance(1);
    blocked.prune();
    expect(plain(blocked.resources.byJob()).map((s) => 'job' in s && s.job)).toEqual(['there']);
  });
});
