import { describe, expect, it } from 'vitest';
import { cgroupLimits } from './cgroup-limits.js';

const GIB = 2 ** 30;
const mountOf = (point: string, root: string, type: string, options: string) =>
  `31 24 0:27 ${root} ${point} ro,nosuid,nodev,noexec,relatime master:9 - ${type} cgroup ${options}`;

/** Returns the limits of a process, from the texts of the kernel's files. */
function limits(membership: string[], mounts: string[], files: Record<string, string>) {
  const mountinfo = ['22 1 8:1 / / rw,relatime - ext4 /dev/root rw', ...mounts, ''].join('\n');
  return cgroupLimits({ membership: [...membership, ''].join('\n'), mountinfo, textOf: (file) => files[file] ?? '' });
}

const SECOND = [mountOf('/sys/fs/cgroup', '/', 'cgroup2', 'rw,nsdelegate')];
const FIRST = (root: string) => [
  mountOf('/sys/fs/cgroup/systemd', root, 'cgroup', 'rw,xattr,name=systemd'),
  mountOf('/sys/fs/cgroup/memory', root, 'cgroup', 'rw,memory'),
  mountOf('/sys/fs/cgroup/cpu,cpuacct', root, 'cgroup', 'rw,cpu,cpuacct'),
];
const firstAt = (own: string) => [`12:memory:${own}`, `5:cpu,cpuacct:${own}`, `1:name=systemd:${own}`, '0::/'];

describe('AG-20: what a process may use of its machine, by its cgroups', () => {
  it('of the second version, in a container with a namespace of cgroups', () => {
    const files = { '/sys/fs/cgroup/memory.max': `${4 * GIB}\n`, '/sys/fs/cgroup/cpu.max': '150000 100000\n' };
    expect(limits(['0::/'], SECOND, files)).toEqual({
      memoryBytes: { amount: 4 * GIB, source: 'cgroup memory.max' },
      cpus: { amount: 1.5, source: 'cgroup cpu.max' },
    });
  });

  it('of the second version, the smallest of its own and of those around it', () => {
    const own = '/kubepods.slice/pod1.slice/cri-1.scope';
    const at = (cgroup: string) => `/sys/fs/cgroup/kubepods.slice${cgroup}`;
    const files = {
      [`${at('/pod1.slice/cri-1.scope')}/memory.max`]: 'max\n',
      [`${at('/pod1.slice')}/memory.max`]: `${2 * GIB}\n`,
      [`${at('')}/memory.max`]: `${8 * GIB}\n`,
      [`${at('/pod1.slice/cri-1.scope')}/cpu.max`]: '200000 50000\n',
      [`${at('/pod1.slice')}/cpu.max`]: 'max 100000\n',
      [`${at('')}/cpu.max`]: '350000 100000\n',
    };
    expect(limits([`0::${own}`], SECOND, files)).toEqual({
      memoryBytes: { amount: 2 * GIB, source: 'cgroup memory.max' },
      cpus: { amount: 3.5, source: 'cgroup cpu.max' },
    });
  });

  it('of the first version, in a container that is told its place in the whole tree', () => {
    const own = '/docker/0123abcd';
    const files = {
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${GIB}\n`,
      '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '50000\n',
      '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
    };
    expect(limits(firstAt(own), FIRST(own), files)).toEqual({
      memoryBytes: { amount: GIB, source: 'cgroup memory.limit_in_bytes' },
      cpus: { amount: 0.5, source: 'cgroup cpu.cfs_quota_us' },
    });
  });

  it('of the first version, below the part that is mounted and on the machine itself', () => {
    const files = {
      '/sys/fs/cgroup/memory/system.slice/waybill.service/memory.limit_in_bytes': `${GIB}\n`,
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      '/sys/fs/cgroup/cpu,cpuacct/system.slice/cpu.cfs_quota_us': '300000\n',
      '/sys/fs/cgroup/cpu,cpuacct/system.slice/cpu.cfs_period_us': '100000\n',
    };
    const expected = {
      memoryBytes: { amount: GIB, source: 'cgroup memory.limit_in_bytes' },
      cpus: { amount: 3, source: 'cgroup cpu.cfs_quota_us' },
    };
    expect(limits(firstAt('/system.slice/waybill.service'), FIRST('/'), files)).toEqual(expected);
    expect(limits(firstAt('/docker/1/system.slice/waybill.service'), FIRST('/docker/1'), files)).toEqual(expected);
  });

  it('of both versions at once, where controllers are divided between them', () => {
    const mounts = [
      mountOf('/sys/fs/cgroup/unified', '/', 'cgroup2', 'rw'),
      mountOf('/sys/fs/cgroup/memory', '/', 'cgroup', 'rw,memory'),
    ];
    const files = {
      '/sys/fs/cgroup/unified/a/cpu.max': '100000 100000\n',
      '/sys/fs/cgroup/memory/b/memory.limit_in_bytes': `${GIB}\n`,
    };
    expect(limits(['4:memory:/b', '0::/a'], mounts, files)).toMatchObject({
      memoryBytes: { amount: GIB },
      cpus: { amount: 1 },
    });
  });

  it('where a tree is mounted twice, by the part that it is in', () => {
    const mounts = [mountOf('/elsewhere', '/other', 'cgroup2', 'rw'), ...SECOND];
    const files = { '/sys/fs/cgroup/a/memory.max': `${GIB}\n`, '/elsewhere/memory.max': '1\n' };
    expect(limits(['0::/a'], mounts, files).memoryBytes?.amount).toBe(GIB);
  });

  it('outside of the part that it sees, the limits of that part count', () => {
    const files = { '/sys/fs/cgroup/memory.max': `${GIB}\n` };
    expect(limits(['0::/../other'], SECOND, files).memoryBytes?.amount).toBe(GIB);
    const part = [mountOf('/sys/fs/cgroup', '/pod1', 'cgroup2', 'rw')];
    expect(limits(['0::/pod10/inner'], part, files).memoryBytes?.amount).toBe(GIB);
  });

  it('none where the kernel names none, or nothing that is a number', () => {
    expect(limits([], [], {})).toEqual({});
    expect(limits(['0::/a'], [], { '/sys/fs/cgroup/memory.max': '1' })).toEqual({});
    expect(
      limits(['0::/'], SECOND, { '/sys/fs/cgroup/memory.max': 'max\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' }),
    ).toEqual({});
    const unset = {
      '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': 'torn',
    };
    expect(limits(firstAt('/'), FIRST('/'), unset)).toEqual({});
    expect(limits(['0::/'], SECOND, { '/sys/fs/cgroup/cpu.max': '100000 0\n' })).toEqual({});
  });
});
