import { expect, it } from 'vitest';
import { isOpenToOthers } from './key-file.js';

const [ROOT, WAYBILL] = [0, 10_001];

it.each([
  [0o600, WAYBILL, WAYBILL, false],
  [0o400, ROOT, ROOT, false],
  [0o640, WAYBILL, WAYBILL, true],
  [0o640, ROOT, ROOT, true],
  [0o440, ROOT, WAYBILL, false],
  [0o640, ROOT, WAYBILL, false],
  [0o660, ROOT, WAYBILL, true],
  [0o444, ROOT, WAYBILL, true],
  [0o640, 1_000, WAYBILL, true],
])('a key file of mode %o of user %d, read by user %d, is open to others: %s', (mode, owner, reader, open) => {
  expect(isOpenToOthers({ mode: 0o100_000 | mode, owner }, reader)).toBe(open);
});
