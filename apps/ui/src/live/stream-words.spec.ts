import { expect, it } from 'vitest';
import { noticeOf } from './stream-words.js';

it('a page says since when it may be behind', () => {
  const away = { phase: 'reconnecting', index: 7, sinceMs: 15_000, lastChangeMs: 10_000 } as const;
  expect(noticeOf(away, 22_000, true).text).toBe('Reconnecting, last change 12 s ago');
  expect(noticeOf({ ...away, lastChangeMs: 0 }, 22_000, true).text).toBe('Reconnecting');
  expect(noticeOf({ phase: 'live', index: 7, lastChangeMs: 0 }, 0, true)).toEqual({ tone: 'live', text: 'Live' });
  const refused = { phase: 'refused', text: 'Permission denied' } as const;
  expect(noticeOf(refused, 0, true).text).toContain('your token may not read events');
  expect(noticeOf(refused, 0, false).text).toContain('sign in');
});
