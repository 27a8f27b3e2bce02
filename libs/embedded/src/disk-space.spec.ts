import { expect, it } from 'vitest';
import { diskSize, diskSpaceOf, leastRoom, mountPointsBelow } from './disk-space.js';

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
  expect(await leastRoom('/no/such/directory')).toEqual({ space: 'enough', dir: '/no/such/directory' });
  expect(await diskSize('/no/such/directory')).toBeUndefined();
});

it('knows what is mounted below a directory, whatever its name, and not what lies beside it', () => {
  const line = (point: string) => `36 35 98:0 / ${point} rw,noatime master:1 - ext3 /dev/root rw`;
  const info = ['/', '/data', '/data/nats/streams', '/data/my\\040disk', '/database'].map(line).join('\n');
  expect(mountPointsBelow(`${info}\n`, '/data')).toEqual(['/data/nats/streams', '/data/my disk']);
});
