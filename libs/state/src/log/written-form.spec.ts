import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { TXN_TYPES } from './catalogue.js';
import { readForm, writtenForm } from './written-form.js';

const { anAlloc, aPlanResult } = fixtures;
const TODAY = TXN_TYPES.ApplyPlanResults.schemaVersion;

/** As the log keeps it: JSON. */
const stored = (written: object): object => JSON.parse(JSON.stringify(written)) as object;

describe('the written form of a plan', () => {
  it.each([0, 1, 3])('ST-8: a plan with %i allocations is read as it was', (count) => {
    const payload = aPlanResult({ AllocsUpdated: Array.from({ length: count }, () => anAlloc()) });
    const written = writtenForm({ type: 'ApplyPlanResults', payload });
    expect(Array.isArray((written as { AllocsUpdated: unknown }).AllocsUpdated)).toBe(false);
    expect(readForm('ApplyPlanResults', TODAY, stored(written))).toEqual(payload);
  });

  it('ST-8: what is no plan is written as it is', () => {
    const payload = { JobID: 'web', JobVersion: 1, Stable: true };
    expect(writtenForm({ type: 'JobStability', payload })).toBe(payload);
    expect(readForm('JobStability', TODAY, payload)).toBe(payload);
  });

  it('ST-8: schema version 1 wrote whole allocations', () => {
    const payload = aPlanResult({ AllocsUpdated: [anAlloc(), anAlloc()] });
    expect(readForm('ApplyPlanResults', 1, payload)).toBe(payload);
  });

  it('ST-8: schema version 2 wrote differences from the first allocation', () => {
    const first = { ID: 'a', Name: 'web[0]', Job: { ID: 'web' }, States: [1, 2], Gone: null, Deep: { x: { y: 1 } } };
    const differences = [
      { ID: 'b' },
      { ID: 'c', Job: null, Deep: { x: { y: 2, z: 3 } } },
      { ID: 'd', States: { '1': 5 }, Gone: { at: 1 }, Deep: { '=': { only: true } } },
      { ID: 'e', States: { '=': [] } },
    ];
    const read = (...AllocsUpdated: unknown[]) =>
      (readForm('ApplyPlanResults', 2, { EvalID: 'e', AllocsUpdated }) as { AllocsUpdated: unknown[] }).AllocsUpdated;
    expect(read(first, ...differences)).toStrictEqual([
      first,
      { ...first, ID: 'b' },
      { ...first, ID: 'c', Job: null, Deep: { x: { y: 2, z: 3 } } },
      { ...first, ID: 'd', States: [1, 5], Gone: { at: 1 }, Deep: { only: true } },
      { ...first, ID: 'e', States: [] },
    ]);
    expect(read()).toEqual([]);
    expect(readForm('ApplyPlanResults', 2, { EvalID: 'e', AllocsUpdated: [] })).toMatchObject({ EvalID: 'e' });
  });
});
