import { expect, it } from 'vitest';
import { errorLine } from './error-line.js';

it('finds the line that the server names', () => {
  const text = 'job "a" {\n  typ = 1\n}\n';
  const found = errorLine('input.hcl:2,3-6: Unsupported argument; An argument named "typ" is not expected here.', text);
  expect(found).toEqual({ line: 2, start: 10, end: 19 });
  expect(text.slice(found?.start, found?.end)).toBe('  typ = 1');
  expect(errorLine('Job spec is empty', text)).toBeUndefined();
  expect(errorLine('input.hcl:90,1: beyond the end', text)).toBeUndefined();
});
