import { describe, expect, it } from 'vitest';
import { emptyTally, skipReason, summaryLine, verdictOf } from './test-tally.mjs';

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
    expect(verdictOf('unit', 1, { ...emptyTally(), passed: 5 })).toMatchObject({ passed: 5, failed: 1 });
    expect(verdictOf('unit', 0, { ...emptyTally(), passed: 5 })).toMatchObject({ passed: 5, failed: 0 });
    expect(verdictOf('unit', 1, { ...emptyTally(), passed: 5, failed: 2 })).toMatchObject({ failed: 2 });
  });

  it('takes the reason of a skip from its note or its name, and fails a skip that has none', () => {
    expect(skipReason('renders (needs kubectl)', undefined)).toBe('needs kubectl');
    expect(skipReason('renders', 'no kubectl here')).toBe('no kubectl here');
    expect(skipReason('renders', undefined)).toBe('');
    const skipped = [{ file: 'a', name: 'b', reason: '' }];
    expect(verdictOf('unit', 0, { ...emptyTally(), passed: 1, skipped })).toMatchObject({ failed: 1 });
  });
});
