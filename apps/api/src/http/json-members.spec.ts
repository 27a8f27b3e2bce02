import { expect, it } from 'vitest';
import { asObject, intOf, memberOf, stringsOf, uintOf } from './json-members.js';

it('API-25: names in any case, an exact match first, null as if absent', () => {
  expect(memberOf({ jobid: 'other', JobID: 'web' }, 'JobID')).toBe('web');
  expect(memberOf({ jobid: 'web' }, 'JobID')).toBe('web');
  expect(memberOf({ JobID: null }, 'JobID')).toBeUndefined();
});

it('API-27: a body that is no object says what it is instead', () => {
  const said = (json: unknown) => () => asObject(json, 'Request');
  expect(said([])).toThrow('json: cannot unmarshal array into Go struct field Request of type Request');
  expect(said(null)).toThrow('cannot unmarshal null into');
  expect(said('x')).toThrow('cannot unmarshal string into');
});

it('API-27: a number out of its range is refused', () => {
  expect(intOf({ Count: -1 }, 'Count')).toBe(-1);
  expect(() => intOf({ Count: 1.5 }, 'Count')).toThrow('cannot unmarshal number 1.5 into');
  for (const beyond of [1e300, -1e300, 2 ** 64])
    expect(() => intOf({ PromotedAt: beyond }, 'PromotedAt')).toThrow('cannot unmarshal number');
  expect(intOf({ PromotedAt: -(2 ** 63) }, 'PromotedAt')).toBe(-(2 ** 63));
  expect(uintOf({ JobVersion: 3 }, 'JobVersion')).toBe(3);
  expect(uintOf({}, 'JobVersion')).toBe(0);
  expect(() => uintOf({ JobVersion: -1 }, 'JobVersion')).toThrow(
    'cannot unmarshal number -1 into Go struct field JobVersion of type uint64',
  );
  expect(() => stringsOf({ Groups: [1] }, 'Groups')).toThrow('cannot unmarshal number 1 into');
});
