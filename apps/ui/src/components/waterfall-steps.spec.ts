import { expect, it } from 'vitest';
import { durationInWords, stepsOfAllocation, waterfallOf } from './waterfall-steps.js';

const MS = 1e6;
const step = (Name: string, fromMs: number, toMs = 0, Details: Record<string, string> = {}) => ({
  Name,
  Time: fromMs * MS,
  EndTime: toMs * MS,
  Service: 'api',
  Instance: '',
  Index: 0,
  ClockSkewed: false,
  Details,
});

it('puts steps on one axis, each once, by their beginning', () => {
  const submitted = step('submitted', 100, 120);
  const { rows, totalMs } = waterfallOf([step('started', 200, 300), submitted, submitted, step('placed', 150)]);
  expect(totalMs).toBe(200);
  expect(rows.map(({ step: { Name }, from, length, tookMs }) => [Name, from, length, tookMs])).toEqual([
    ['submitted', 0, 0.1, 20],
    ['placed', 0.25, 0, undefined],
    ['started', 0.5, 0.5, 100],
  ]);
});

it('has an axis without steps, and with a single moment', () => {
  expect(waterfallOf([])).toEqual({ rows: [], totalMs: 0 });
  expect(waterfallOf([step('submitted', 5)]).rows).toMatchObject([{ from: 0, length: 0, offsetMs: 0 }]);
});

it('of an allocation shows its own steps and those of its evaluation', () => {
  const steps = [
    step('placed', 1),
    step('started', 2, 0, { allocation: 'a' }),
    step('started', 2, 0, { allocation: 'b' }),
  ];
  expect(stepsOfAllocation(steps, 'a')).toEqual(steps.slice(0, 2));
});

it('says durations exactly where they are short', () => {
  expect([0, 0.4, 12.4, 1_240, 125_000].map(durationInWords)).toEqual(['0 ms', '<1 ms', '12 ms', '1.2 s', '2 min 5 s']);
});
