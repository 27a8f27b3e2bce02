import { belowAsText, isWithin } from '../../paths/path-name.js';

/** What the kernel says of the cgroups of a process, each empty where it says nothing. */
export interface CgroupFacts {
  /** Text of `/proc/<process>/cgroup`: its cgroup in each tree. */
  readonly membership: string;
  /** Text of `/proc/<process>/mountinfo`: where the trees are mounted, and what part of them. */
  readonly mountinfo: string;
  /** Text of a file in a tree. */
  readonly textOf: (file: string) => string;
}

export interface Limit {
  readonly amount: number;
  /** Where the figure is from, for people. */
  readonly source: string;
}

/** Absent: the cgroups of the process set no limit. */
export interface CgroupLimits {
  readonly memoryBytes?: Limit;
  /** Of processors, in whole and in parts. */
  readonly cpus?: Limit;
}

/**
 * What a process may use of its machine: the smallest limit of its cgroups and of those around them that it can see, in the
 * trees of both versions. In a container, the limits of the container; the files are the same under every runtime. Pure.
 */
export function cgroupLimits(facts: CgroupFacts): CgroupLimits {
  const second = cgroupsAround(facts, undefined);
  const memoryBytes = smallest([
    ...limitsOf(second, 'memory.max', (file) => amountIn(facts.textOf(file))),
    ...limitsOf(cgroupsAround(facts, 'memory'), 'memory.limit_in_bytes', (file) => amountIn(facts.textOf(file))),
  ]);
  const cpus = smallest([
    ...limitsOf(second, 'cpu.max', (file) => {
      const [quota = '', period = ''] = facts.textOf(file).trim().split(' ');
      return quotient(quota, period);
    }),
    ...limitsOf(cgroupsAround(facts, 'cpu'), 'cpu.cfs_quota_us', (file, directory) =>
      quotient(facts.textOf(file), facts.textOf(belowAsText(directory, 'cpu.cfs_period_us'))),
    ),
  ]);
  return { ...(memoryBytes && { memoryBytes }), ...(cpus && { cpus }) };
}

function limitsOf(
  directories: readonly string[],
  name: string,
  read: (file: string, directory: string) => number | undefined,
): Limit[] {
  return directories.flatMap((directory) => {
    const amount = read(belowAsText(directory, name), directory);
    return amount === undefined ? [] : [{ amount, source: `cgroup ${name}` }];
  });
}

const smallest = (limits: readonly Limit[]): Limit | undefined => limits.toSorted((a, b) => a.amount - b.amount)[0];

/** `max` and -1 are no numbers here, as is what is not there. */
function amountIn(text: string): number | undefined {
  const digits = /^\d{1,20}$/.exec(text.trim())?.[0];
  return digits === undefined ? undefined : Number(digits);
}

function quotient(quota: string, period: string): number | undefined {
  const [time, of] = [amountIn(quota), amountIn(period)];
  return time === undefined || of === undefined || of === 0 ? undefined : time / of;
}

/**
 * The directory of the process's cgroup and of each around it, as far as they are mounted.
 * @param controller whose tree of the first version is meant; undefined: that of the second version
 */
function cgroupsAround({ membership, mountinfo }: CgroupFacts, controller: string | undefined): string[] {
  const own = pathIn(membership, controller);
  if (own === undefined) return [];
  const mounted = mountsOf(mountinfo, controller);
  const mount = mounted.find(({ root }) => isWithin(root, own)) ?? mounted[0];
  if (mount === undefined) return [];
  // A container without a namespace of cgroups is told its place in the whole tree, and has only its part mounted. A part
  // that the process is not in is that of a namespace, whose root is the nearest that can be seen.
  const relative = isWithin(mount.root, own) ? own.slice(mount.root === '/' ? 0 : mount.root.length) : '';
  const segments = relative.split('/').filter((segment) => segment !== '');
  if (segments.includes('..')) return [mount.point];
  return [0, ...segments.keys()].map((_, depth) => belowAsText(mount.point, segments.slice(0, depth).join('/')));
}

/** Lines are `4:memory:/path`, with several controllers `2:cpu,cpuacct:/path`, of the second version `0::/path`. */
function pathIn(membership: string, controller: string | undefined): string | undefined {
  for (const line of membership.split('\n')) {
    const [, names, own] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (names === undefined) continue;
    if (controller === undefined ? names === '' : names.split(',').includes(controller)) return own;
  }
  return undefined;
}

/** proc(5): ID, parent, device, root, mount point, options, fields that may be absent, `-`, type, source, super options. */
function mountsOf(mountinfo: string, controller: string | undefined): { root: string; point: string }[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, point] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    const isMeant =
      controller === undefined ? type === 'cgroup2' : type === 'cgroup' && options.split(',').includes(controller);
    return isMeant && root !== undefined && point !== undefined ? [{ root, point }] : [];
  });
}
