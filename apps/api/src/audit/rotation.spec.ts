import { expect, it } from 'vitest';
import { isRotationDue, rotatedFiles, rotatedPath, surplusFiles } from './rotation.js';

const RULES = { bytes: 100, ageMs: 1_000, files: 0 };

it.each([
  ['it would grow beyond its size', { bytes: 90, bornMs: 0 }, 11, 0, true],
  ['it just fits', { bytes: 90, bornMs: 0 }, 10, 0, false],
  ['it is old enough', { bytes: 1, bornMs: 0 }, 1, 1_000, true],
  ['it is not', { bytes: 1, bornMs: 0 }, 1, 999, false],
  ['it is empty, however large the record', { bytes: 0, bornMs: 0 }, 500, 5_000, false],
])('AU-279: a file is put aside when %s', (_, file, adding, nowMs, due) => {
  expect(isRotationDue(file, RULES, adding, nowMs)).toBe(due);
});

it('AU-279: 0 is no limit', () => {
  expect(isRotationDue({ bytes: 1e9, bornMs: 0 }, { bytes: 0, ageMs: 0, files: 0 }, 1, 1e12)).toBe(false);
});

it('AU-279: an old file has its time before its extension, and the newest ones stay', () => {
  expect(rotatedPath('/var/log/audit.log', 17n)).toBe('/var/log/audit-17.log');
  expect(rotatedPath('/var/log/audit', 17n)).toBe('/var/log/audit-17');
  const names = [
    'audit.log',
    'audit-9.log',
    'audit-100.log',
    'audit-20.log',
    'audit-x.log',
    'other-1.log',
    'audit-1.txt',
  ];
  const old = rotatedFiles('/var/log/audit.log', names);
  expect(old).toEqual(['audit-100.log', 'audit-20.log', 'audit-9.log']);
  expect(surplusFiles(old, 2)).toEqual(['audit-9.log']);
  expect(surplusFiles(old, 0)).toEqual([]);
});
