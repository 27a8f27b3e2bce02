import { expect, it } from 'vitest';
import { nearest } from './nearest-name.js';

it.each([
  ['stauts', ['start', 'status', 'stop'], 'status'],
  ['grop', ['drop', 'group'], 'drop'],
  ['taks', ['task', 'tasty'], 'task'],
  ['contraint', ['constraint', 'consul'], 'constraint'],
  ['job', ['job'], undefined],
  ['volume', ['network', 'vault'], undefined],
  ['', ['ab'], 'ab'],
])('JS-110: what is nearest to "%s" of %j is %s', (written, known, found) => {
  expect(nearest(written, known)).toBe(found);
});
