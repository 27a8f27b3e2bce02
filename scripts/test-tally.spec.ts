import { describe, expect, it } from 'vitest';
import { emptyTally, filesToTryAgain, RUN, skipReason, summaryLine, verdictOf, withSecondTry } from './test-tally.mjs';

describe('the tally of a test run', () => {
  it('ends with passed and failed, and names skips only when there are any', () => {
    expect(summaryLine({ ...emptyTally(), passed: 3 })).toBe('3 passed, 0 failed');
    const skipped = [{ file: 'a', name: 'b', reason: 'c' }];
    expect(summaryLine({ ...emptyTally(), passed: 3, failed: 1, skipped })).toBe('3 passed, 1 failed, 1 skipped');
  });

  it('counts a run that died without a report as a failure', () => {
    expect(verdictOf('unit', 'SIGKILL', undefined)).toMatchObject({ failed: 1 });
  });

  it('counts a bad exit with a clean report as a failure', () => {
    expect(verdictOf('unit', 1, { a: { ...emptyTally(), passed: 5 } })).toMatchObject({ passed: 5, failed: 1 });
    expect(verdictOf('unit', 0, { a: { ...emptyTally(), passed: 5 } })).toMatchObject({ passed: 5, failed: 0 });
    expect(verdictOf('unit', 1, { a: { ...emptyTally(), passed: 5, failed: 2 } })).toMatchObject({ failed: 2 });
  });

  it('takes the reason of a skip from its note or its name, and fails a skip that has none', () => {
    expect(skipReason('renders (needs kubectl)', undefined)).toBe('needs kubectl');
    expect(skipReason('renders', 'no kubectl here')).toBe('no kubectl here');
    expect(skipReason('renders', undefined)).toBe('');
    const skipped = [{ file: 'a', name: 'b', reason: '' }];
    expect(verdictOf('unit', 0, { a: { ...emptyTally(), passed: 1, skipped } })).toMatchObject({ failed: 1 });
  });

  const passed = (n: number) => ({ ...emptyTally(), passed: n });
  const failed = (n: number) => ({ ...emptyTally(), failed: n });

  it('tries a few failed files again, and what they then say counts', () => {
    const first = { a: passed(5), b: { ...failed(1), passed: 2 }, c: failed(2) };
    expect(filesToTryAgain(first)).toEqual(['b', 'c']);
    const both = withSecondTry(first, { b: passed(3), c: failed(1) });
    expect(verdictOf('integration', 1, both)).toMatchObject({ passed: 8, failed: 1 });
  });

  it('lets a failure stand when the second try says nothing of it', () => {
    expect(verdictOf('integration', 'SIGKILL', withSecondTry({ a: failed(2) }, undefined))).toMatchObject({
      failed: 2,
    });
  });

  it('tries nothing again when much is broken, or something beside the files, or without a report', () => {
    expect(filesToTryAgain({ a: failed(1), b: failed(1), c: failed(1), d: failed(1) })).toEqual([]);
    expect(filesToTryAgain({ a: failed(1), [RUN]: failed(1) })).toEqual([]);
    expect(filesToTryAgain(undefined)).toEqual([]);
  });
});
