import { expect, it } from 'vitest';
import { errorPlace, isAboutVariables } from './error-place.js';

const TEXT = 'job "a" {\n  typ = 1\n}\n';

/** The piece of the text that an error is about. */
function marked(message: string): string | undefined {
  const place = errorPlace(message, TEXT);
  return place && TEXT.slice(place.start, place.end);
}

it('finds the place that the server names', () => {
  expect(marked('input.hcl:2,3-6: Unsupported argument; An argument named "typ" is not expected here.')).toBe('typ');
  expect(errorPlace('input.hcl:2,3-6: Unsupported argument', TEXT)).toEqual({ start: 12, end: 15 });
});

it('marks the first line of a mistake without a width or with several lines', () => {
  expect(marked('input.hcl:2,3-3: Missing name')).toBe('typ = 1');
  expect(marked('input.hcl:1,9-3,2: Wrong block')).toBe('job "a" {');
  expect(marked('input.hcl:1,1-3,4: Wrong block')).toBe('job "a" {');
  expect(marked('input.hcl:2,3-600: Too far')).toBe('typ = 1');
});

it('marks nothing if the error names no line of the text', () => {
  expect(marked('Job spec is empty')).toBeUndefined();
  expect(marked('input.hcl:90,1-2: beyond the end')).toBeUndefined();
});

it('tells errors of variables from those of the job file', () => {
  expect(isAboutVariables('1 error: unable to parse var content: input.hcl:1,5-6: Invalid expression')).toBe(true);
  expect(isAboutVariables('input.hcl:1,5-6: Invalid expression')).toBe(false);
});
