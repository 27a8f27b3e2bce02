import { fixtures } from '@waybill/state';
import { encodeAllocationStub } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { printedList, StubTexts } from './stub-texts.js';

const anAlloc = (over: object = {}) => ({ ...fixtures.anAlloc(), ModifyIndex: 7, ...over });
const parsed = (texts: readonly Buffer[]): unknown => JSON.parse(printedList(texts).text.toString());

describe('texts of allocation stubs', () => {
  it('are those of the encoder, in a list', () => {
    const rows = [anAlloc(), anAlloc({ Name: 'ü "quoted"' })];
    const texts = new StubTexts().of({});
    expect(parsed(rows.map((row) => texts.make(row)))).toEqual(rows.map((row) => encodeAllocationStub(row)));
    expect(parsed([])).toEqual([]);
  });

  it('are good for their index and their form only', () => {
    const stubs = new StubTexts();
    const row = anAlloc();
    const text = stubs.of({}).make(row);
    expect(stubs.of({}).get(row.ID, 7)).toBe(text);
    expect(stubs.of({ taskStates: true, resources: false }).get(row.ID, 7)).toBe(text);
    expect(stubs.of({}).get(row.ID, 8)).toBeUndefined();
    expect(stubs.of({ resources: true }).get(row.ID, 7)).toBeUndefined();
    expect(stubs.of({ taskStates: false }).get(row.ID, 7)).toBeUndefined();
  });

  it('take no more than their bytes: the longest kept goes first, a newer form replaces its own', () => {
    const rows = [anAlloc(), anAlloc(), anAlloc()];
    const one = new StubTexts().of({}).make(anAlloc()).length;
    const stubs = new StubTexts(one * 2 + 40);
    for (const row of rows) stubs.of({}).make(row);
    expect(rows.map((row) => stubs.of({}).get(row.ID, 7) !== undefined)).toEqual([false, true, true]);
    stubs.of({}).make({ ...rows[2]!, ModifyIndex: 9 });
    expect(stubs.of({}).get(rows[1]!.ID, 7)).toBeDefined();
    expect(stubs.size).toBeLessThanOrEqual(one * 2 + 40);
  });
});
