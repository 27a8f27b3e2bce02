import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { eachApart } from './each-apart.js';

it('an object at which something throws is left out and named; the others are taken', () => {
  const [taken, told]: [number[], unknown[]] = [[], []];
  const logger = { ...silentLogger, error: (_: string, fields?: object) => void told.push(fields) };
  eachApart(
    [1, 2, 3],
    (n) => `object ${n}`,
    logger,
    (n) => {
      if (n === 2) throw new TypeError('poison');
      taken.push(n);
    },
  );
  expect(taken).toEqual([1, 3]);
  expect(told).toEqual([{ object: 'object 2', error: new TypeError('poison') }]);
});
