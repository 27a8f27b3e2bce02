import { describe, expect, it } from 'vitest';
import { machineUsers } from './user-ids.js';

describe('machineUsers', () => {
  const userOf = machineUsers(
    new Map([
      ['raw_exec', { defaultUser: 'root' }],
      ['exec', { isolation: 'chroot', defaultUser: '' }],
      ['docker', { isolation: 'image', defaultUser: 'root' }],
    ] as const),
  );
  const ROOT = { uid: 0, gid: 0 };

  it('AG-274: returns the IDs of the named user, or of the default user of the driver', () => {
    expect(userOf('raw_exec', '')).toEqual(ROOT);
    expect(userOf('exec', 'root')).toEqual(ROOT);
    expect(userOf('exec', '0')).toEqual(ROOT);
  });

  it('returns none for the agent’s own user, an unknown user, and a driver whose images have users', () => {
    expect(userOf('exec', '')).toBeUndefined();
    expect(userOf('no such driver', '')).toBeUndefined();
    expect(userOf('raw_exec', 'no such user')).toBeUndefined();
    expect(userOf('docker', 'root')).toBeUndefined();
  });
});
