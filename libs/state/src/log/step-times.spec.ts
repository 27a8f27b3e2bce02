import { describe, expect, it } from 'vitest';
import { joinedStepTimes, MAX_LINE, MAX_STEP_TIMES, readStepTimes, StepLine } from './step-times.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const NOW = 1_772_359_200_009;

describe('the times of steps', () => {
  it('CL-1047: are read as they were told, on the one clock, the worker counting by its own', () => {
    const broker = new StepLine(NOW);
    broker.add('enqueued', NOW - 4, NOW);
    broker.add('dequeued', NOW, undefined, 1);
    const worker = new StepLine(77);
    worker.add('scheduled', 80, 91, 1, 0);
    broker.append(worker.takeUnsent());
    const text = broker.takeOf(EVAL);
    expect(text).toBe(`${EVAL}@${NOW} enqueued-4+4 dequeued0:1 scheduled3+11:1:0`);
    expect(readStepTimes(text)).toEqual([
      {
        evalId: EVAL,
        steps: [
          { name: 'enqueued', fromMs: NOW - 4, toMs: NOW, details: [] },
          { name: 'dequeued', fromMs: NOW, toMs: undefined, details: ['1'] },
          { name: 'scheduled', fromMs: NOW + 3, toMs: NOW + 14, details: ['1', '0'] },
        ],
      },
    ]);
  });

  it('CL-1065: each step is told once; where there is nothing to tell, nothing is written', () => {
    const line = new StepLine(NOW);
    line.add('checked', NOW, NOW, 0);
    expect(line.takeOf(EVAL)).toBe(`${EVAL}@${NOW} checked0+0:0`);
    line.add('checked', NOW, NOW - 5);
    expect(line.takeOf(EVAL)).toBe(`${EVAL}@${NOW} checked0+0`); // the clock was set back
    expect(line.takeOf(EVAL)).toBe('');
    expect(joinedStepTimes(['', ''])).toBeUndefined();
    expect(joinedStepTimes(['a@1 x0', '', 'b@1 x0'])).toBe('a@1 x0; b@1 x0');
  });

  it('CL-1047: the text is small, whatever happens: what would make it longer is left out', () => {
    const line = new StepLine(NOW);
    for (let n = 0; n < 1_000; n++) line.add('scheduled', NOW + n, NOW + n + 1, 1, 0);
    const text = line.takeOf(EVAL);
    expect(text.length).toBeLessThan(1_200);
    expect(readStepTimes(text)[0]?.steps.length).toBeGreaterThan(30);
    const joined = joinedStepTimes(Array<string>(100).fill(text)) ?? '';
    expect(joined.length).toBeLessThanOrEqual(MAX_STEP_TIMES);
    expect(readStepTimes(joined).length).toBeGreaterThan(10);
  });

  it('CL-1047: a text that is exactly as long as it may be is kept', () => {
    const line = new StepLine(NOW);
    line.append('x'.repeat(MAX_LINE));
    line.append('y');
    expect(line.takeUnsent()).toBe('x'.repeat(MAX_LINE));
    line.append('x'.repeat(MAX_LINE + 1));
    expect(line.takeUnsent()).toBe('');
    const longest = 'x'.repeat(MAX_STEP_TIMES - 2); // two for what stands between it and the next one
    expect(joinedStepTimes([longest])).toBe(longest);
    expect(joinedStepTimes([`${longest}x`])).toBeUndefined();
    const step = `${EVAL}@12 enqueued0; `;
    expect(readStepTimes(step.padEnd(MAX_STEP_TIMES, 'x'))).toHaveLength(1);
    expect(readStepTimes(step.padEnd(MAX_STEP_TIMES + 1, 'x'))).toEqual([]);
  });

  it.each([
    '',
    ' ',
    ';; ;',
    EVAL,
    `${EVAL}@`,
    `${EVAL}@12`,
    `${EVAL}@12  `,
    `${EVAL}@9999999999999999999 enqueued0`,
    'a b@12 enqueued0',
    `${EVAL}@12${' enqueued0'.repeat(MAX_STEP_TIMES / 10)}`,
  ])('CL-1047: a bad text (%j) is ignored', (text) => expect(readStepTimes(text)).toEqual([]));

  it('CL-1047: of a text in part unreadable the rest is read', () => {
    const text = `nonsense; ${EVAL}@${NOW} enqueued enqueued+ later5 dequeued0:1 checked1+x waited2+3:ü`;
    expect(readStepTimes(text)).toEqual([
      { evalId: EVAL, steps: [{ name: 'dequeued', fromMs: NOW, toMs: undefined, details: ['1'] }] },
    ]);
  });
});
