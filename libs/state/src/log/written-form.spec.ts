import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { readForm, writtenForm } from './written-form.js';

const { anAlloc, aPlanResult } = fixtures;

/** As the log keeps it: JSON. */
const stored = (written: object): object => JSON.parse(JSON.stringify(written)) as object;

describe('the written form of a plan', () => {
  it.each([0, 1, 3])('ST-8: a plan with %i allocations is read as it was', (count) => {
    const payload = aPlanResult({ AllocsUpdated: Array.from({ length: count }, () => anAlloc()) });
    const written = writtenForm({ type: 'ApplyPlanResults', payload });
    expect(Array.isArray((written as { AllocsUpdated: unknown }).AllocsUpdated)).toBe(false);
    expect(readForm('ApplyPlanResults', stored(written))).toEqual(payload);
  });

  it('ST-8: what is no plan is written as it is', () => {
    const payload = { JobID: 'web', JobVersion: 1, Stable: true };
    expect(writtenForm({ type: 'JobStability', payload })).toBe(payload);
    expect(readForm('JobStability', payload)).toBe(payload);
  });
});
