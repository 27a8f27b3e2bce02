import { describe, expect, it } from 'vitest';
import { Bench, DEFAULT_RUNS, goalMet, median, percentile, runBenchmark } from './harness.mjs';
import { machineFacts } from './machine.mjs';
import { jsonLine, table } from './report.mjs';
import { yardstick, yardstickMs } from './yardstick.mjs';

/** A clock that only moves when told to. */
function clockedBench(runs?: number) {
  const clock = { ms: 0, nowMs: () => clock.ms };
  const lines: string[] = [];
  const bench = new Bench({ nowMs: clock.nowMs, log: (line) => lines.push(line), ...(runs ? { runs } : {}) });
  return { clock, bench, lines };
}

const machine = {
  cpu: 'Test CPU',
  cores: 2,
  memoryMb: 4096,
  os: 'Linux 6',
  arch: 'x64',
  node: 'v20.19.0',
  revision: 'abc',
  date: '2026-01-01T00:00:00.000Z',
  yardstickMs: [100, 162.5] as const,
};

describe('figures', () => {
  it('takes the middle value, whatever the order, and interpolates percentiles', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(percentile([0, 10], 99)).toBeCloseTo(9.9);
    expect(() => median([])).toThrow(RangeError);
  });

  it('knows a goal that is met from one that is missed', () => {
    const metric = { name: 'a', unit: '', value: 5, low: 5, high: 5, runs: 1 };
    expect(goalMet(metric)).toBeUndefined();
    expect(goalMet({ ...metric, goal: { atLeast: 5 } })).toBe(true);
    expect(goalMet({ ...metric, goal: { below: 5 } })).toBe(false);
  });
});

describe('a benchmark', () => {
  it('throws warm-ups away and records the median of the runs', async () => {
    const { clock, bench, lines } = clockedBench();
    const stepsMs = [500, 10, 30, 20, 50, 40];
    const seen: number[] = [];
    await runBenchmark(
      {
        describe: 'a clock that is moved by hand',
        run: async (ctx) => {
          await ctx.measure('stepMs', { unit: 'ms', goal: { below: 31 } }, (run) => {
            seen.push(run);
            return ctx.time(() => (clock.ms += stepsMs[run + 1] ?? 0));
          });
        },
      },
      bench,
    );
    expect(seen).toEqual([-1, 0, 1, 2, 3, 4]);
    expect(bench.metrics).toEqual([
      { name: 'stepMs', unit: 'ms', value: 30, low: 10, high: 50, runs: DEFAULT_RUNS, goal: { below: 31 } },
    ]);
    expect(lines).toHaveLength(6);
  });

  it('compares two figures as a ratio, and takes fewer runs when told to', async () => {
    const { bench } = clockedBench(1);
    await bench.measure('slow', { runs: 50 }, () => 40);
    bench.metric('fast', 10);
    expect(bench.ratio('speedup', 'slow', 'fast')).toBe(4);
    expect(bench.metrics[0]).toMatchObject({ runs: 1 });
    expect(() => bench.ratio('x', 'slow', 'absent')).toThrow('no metric absent');
    expect(() => bench.metric('fast', 11)).toThrow('recorded twice');
    expect(() => bench.metric('odd', Number.NaN)).toThrow('not a figure');
  });

  it('cleans up in reverse order after a failure too, and never reports half a benchmark', async () => {
    const { bench } = clockedBench();
    const ended: string[] = [];
    const run = runBenchmark(
      {
        describe: 'fails',
        run: (ctx) => {
          ctx.onEnd(() => ended.push('server'));
          ctx.onEnd(() => ended.push('client'));
          throw new Error('no server');
        },
      },
      bench,
    );
    await expect(run).rejects.toThrow('no server');
    expect(ended).toEqual(['client', 'server']);
    await expect(runBenchmark({ describe: 'empty', run: () => {} }, clockedBench().bench)).rejects.toThrow('no metric');
  });

  it('reports a table for people and one line of JSON for programs', () => {
    const { bench } = clockedBench();
    bench.metric('publishPerSecond', 31_234.567_89, { unit: 'txn/s', goal: { atLeast: 30_000 } });
    bench.metric('basePerSecond', 10_000);
    bench.ratio('gain', 'publishPerSecond', 'basePerSecond');
    bench.note('1 KB each');
    const text = table('journal', bench, machine);
    expect(text).toContain('Test CPU, 2 cores');
    expect(text).toContain('yardstick 100 ms before, 163 ms after');
    expect(text).toMatch(/publishPerSecond +31,235 txn\/s +at least 30,000: met/);
    expect(text).toContain('1 KB each');
    const line = jsonLine('journal', bench, machine);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({
      bench: 'journal',
      metrics: { publishPerSecond: 31_234.5679, basePerSecond: 10_000, gain: 3.1235 },
      machine,
    });
  });

  it('knows the facts of this machine', () => {
    const facts = machineFacts([100, 120]);
    expect(facts.cores).toBeGreaterThan(0);
    expect(facts.memoryMb).toBeGreaterThan(0);
    expect(facts.node).toBe(process.version);
    expect(facts.yardstickMs).toEqual([100, 120]);
  });

  it('measures its speed by work that is always the same', () => {
    expect(yardstick()).toBe(yardstick());
    expect(yardstickMs()).toBeGreaterThan(1);
  });
});
