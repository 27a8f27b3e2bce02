import { belowAsText, isWithin } from '../../paths/path-name.js';

/** CgroupFacts holds what the kernel shows about the cgroups of a process. Values that it does not show are empty. */
export interface CgroupFacts {
  /** Text of `/proc/<process>/cgroup`: the cgroup of the process in each tree. */
  readonly membership: string;
  /** Text of `/proc/<process>/mountinfo`: where the trees are mounted, and which part of each. */
  readonly mountinfo: string;
  /** Returns the text of a file in a tree. */
  readonly textOf: (file: string) => string;
}

export interface Limit {
  readonly amount: number;
  /** The source of the figure, for people. */
  readonly source: string;
}

/** CgroupLimits holds the limits that the cgroups of a process set. A limit that they do not set is absent. */
export interface CgroupLimits {
  readonly memoryBytes?: Limit;
  /** The number of processors, with a fraction. */
  readonly cpus?: Limit;
}

/**
 * Returns how much of its machine a process may use: the smallest limit of its cgroup and of all visible cgroups around
 * it, in the trees of both versions. In a container these are the limits of the container, and the files are the same
 * under every runtime. Pure.
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

/** Returns undefined for `max`, for -1 and for an empty text. */
function amountIn(text: string): number | undefined {
  const digits = /^\d{1,20}$/.exec(text.trim())?.[0];
  return digits === undefined ? undefined : Number(digits);
}

function quotient(quota: string, period: string): number | undefined {
  const [time, of] = [amountIn(quota), amountIn(period)];
  return time === undefined || of === undefined || of === 0 ? undefined : time / of;
}

/**
 * Returns the directory of the process's cgroup and of each cgroup around it, as far as they are mounted.
 * @param controller the controller whose tree of version 1 is meant; undefined stands for the tree of version 2
 */
function cgroupsAround({ membership, mountinfo }: CgroupFacts, controller: string | undefined): string[] {
  const own = pathIn(membership, controller);
  if (own === undefined) return [];
  const mounted = mountsOf(mountinfo, controller);
  const mount = mounted.find(({ root }) => isWithin(root, own)) ?? mounted[0];
  if (mount === undefined) return [];
  // In a container without a cgroup namespace, the kernel shows the place in the whole tree but only the container's
  // part is mounted. If the process is outside of the mounted part, there is a cgroup namespace, and its root is the
  // nearest visible cgroup.
  const relative = isWithin(mount.root, own) ? own.slice(mount.root === '/' ? 0 : mount.root.length) : '';
  const segments = relative.split('/').filter((segment) => segment !== '');
  if (segments.includes('..')) return [mount.point];
  return [0, ...segments.keys()].map((_, depth) => belowAsText(mount.point, segments.slice(0, depth).join('/')));
}

/** Lines are `4:memory:/path`, with several controllers `2:cpu,cpuacct:/path`, and for version 2 `0::/path`. */
function pathIn(membership: string, controller: string | undefined): string | undefined {
  for (const line of membership.split('\n')) {
    const [, names, own] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (names === undefined) continue;
    if (controller === undefined ? names === '' : names.split(',').includes(controller)) return own;
  }
  return undefined;
}

/**
 * The fields are those of proc(5): ID, parent, device, root, mount point, options, optional fields, `-`, type, source,
 * super options.
 */
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
