import { describe, expect, it } from 'vitest';
import { betweenBatches, shownWait, understand } from './between-batches.js';

const FINE = { any: false, unrecoverable: false };
const ERROR = { any: true, unrecoverable: false };
const WORSE = { any: true, unrecoverable: true };
const ASK = { onError: 'ask', yes: false } as const;

describe('between two batches', () => {
  it.each([
    [ERROR, { onError: 'fail', yes: false }, 'Stopping job restart due to error'],
    [WORSE, { onError: 'fail', yes: true }, 'Stopping job restart due to error'],
    [WORSE, { onError: 'ask', yes: true }, 'Stopping job restart due to unrecoverable error'],
  ] as const)('JR-501: %o with %o stops', (errors, options, line) => {
    expect(betweenBatches(errors, options, 0)).toEqual({ kind: 'stop', line });
  });

  it.each([
    [ERROR, { onError: 'ask', yes: true }, 0],
    [ERROR, { onError: 'ask', yes: true }, 'ask'],
    [FINE, { onError: 'ask', yes: true }, 'ask'],
    [FINE, ASK, 0],
    [FINE, ASK, 5_000],
    [FINE, { onError: 'fail', yes: false }, 0],
  ] as const)('JR-501, JR-502: %o with %o and a wait of %s goes on without a question', (errors, options, wait) => {
    expect(betweenBatches(errors, options, wait)).toEqual({ kind: 'go-on' });
  });

  it.each([
    [FINE, 'ask', 'Proceed with the next batch? [Y/n/<wait duration>]', 'yes'],
    [ERROR, 0, 'Ignore the errors above and proceed with the next batch? [y/N]', 'no'],
    [ERROR, 'ask', 'Ignore the errors above and proceed with the next batch? [y/N/<wait duration>]', 'no'],
    [
      WORSE,
      5_000,
      'The errors above are likely to happen again.\nIgnore them anyway and proceed with the next batch? [y/N]',
      'no',
    ],
  ] as const)('JR-502, JR-504, JR-505, JR-E19: %o with a wait of %s asks %s', (errors, wait, text, emptyMeans) => {
    const question = { text, emptyMeans, takesWait: wait === 'ask' };
    expect(betweenBatches(errors, ASK, wait)).toEqual({ kind: 'ask', question });
  });

  it.each([
    ['', 'yes'],
    [' Y ', 'yes'],
    ['YES', 'yes'],
    ['n', 'no'],
    ['No', 'no'],
    ['5s', { waitMs: 5_000 }],
    ['0', { waitMs: 0 }],
    ['x', undefined],
    ['yess', undefined],
    ['5', undefined],
  ])('JR-505, JR-506: the answer "%s"', (given, meaning) => {
    expect(understand(given, { emptyMeans: 'yes', takesWait: true })).toEqual(meaning);
  });

  it('JR-506: a duration is no answer where it was not offered', () => {
    expect(understand('5s', { emptyMeans: 'no', takesWait: false })).toBeUndefined();
    expect(understand('', { emptyMeans: 'no', takesWait: false })).toBe('no');
  });

  it('JR-907: pauses are printed as durations', () => {
    expect([10_000, 90_000, 250].map(shownWait)).toEqual(['10s', '1m30s', '250ms']);
  });
});
