import { expect, it } from 'vitest';
import { diskSpace, diskSpaceOf } from './disk-space.js';

const MIB = 1024 * 1024;

it('calls a disk full before a server notices, and roomy only when the next segment fits', () => {
  expect([0, 2 * MIB - 1, 2 * MIB, 32 * MIB - 1, 32 * MIB].map(diskSpaceOf)).toEqual([
    'full',
    'full',
    'low',
    'low',
    'enough',
  ]);
});

it('does not hold back a start where the system does not say', async () => {
  expect(await diskSpace('/no/such/directory')).toBe('enough');
});
