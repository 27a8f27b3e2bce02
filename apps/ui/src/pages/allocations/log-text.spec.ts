import { expect, it } from 'vitest';
import { appended, NO_TEXT } from './log-text.js';

it('a log keeps its end, from the beginning of a line on, however much comes', () => {
  const line = `${'x'.repeat(99)}\n`;
  let log = appended(NO_TEXT, 'first\n');
  expect(log).toEqual({ text: 'first\n', isCut: false });
  for (let at = 0; at < 100; at++) log = appended(log, line.repeat(100));
  expect(log.isCut).toBe(true);
  expect(log.text.length).toBeLessThanOrEqual(262_144);
  expect(log.text.startsWith('x'.repeat(99))).toBe(true);
  expect(log.text).not.toContain('first');
});
