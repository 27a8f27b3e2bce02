import { expect, it } from 'vitest';
import { REFUSAL_BURST, RefusalBudget } from './refusal-budget.js';

it('OP-225: a hundred refusals at once in words, then ten a second, and a hundred again after a quiet time', () => {
  let nowMs = 5_000;
  const budget = new RefusalBudget({ nowMs: () => nowMs });
  const given = (asked: number): number => Array.from({ length: asked }, () => budget.take()).filter(Boolean).length;
  expect(given(300)).toBe(100);
  nowMs += 1_000;
  expect(given(50)).toBe(10);
  nowMs += 250;
  expect(given(50)).toBe(2);
  nowMs -= 60_000; // a clock that is set back earns nothing
  expect(given(50)).toBe(0);
  nowMs += 3_600_000;
  expect(given(500)).toBe(REFUSAL_BURST);
});
