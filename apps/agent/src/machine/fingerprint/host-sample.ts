import { readFile, realpath, statfs } from 'node:fs/promises';
import os from 'node:os';
import type { HostDiskStats } from '@waybill/rpc';
import type { CoreTimes, HostSample } from '../node/host-usage.js';
import { type Mount, readMounts } from '../../allocations/disk/mount-table.store.js';
import { ownDirectory } from '../../paths/path-name.js';

/** Samples the machine's current use. @param dir the directory of allocations */
export async function sampleHost(dir: string): Promise<HostSample> {
  const meminfo = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const kilobytes = Number(/^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? Number.NaN);
  const free = os.freemem();
  return {
    atMs: Date.now(),
    cores: os.cpus().map(({ times }): CoreTimes => {
      return { user: times.user + times.nice, system: times.sys + times.irq, idle: times.idle };
    }),
    memory: { total: os.totalmem(), available: Number.isNaN(kilobytes) ? free : kilobytes * 1024, free },
    disk: await diskOf(dir).catch(() => null),
    uptimeSeconds: os.uptime(),
  };
}

/** Returns the size and use of the file system that a directory is on. */
export async function diskOf(dir: string): Promise<HostDiskStats> {
  const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(dir);
  const used = (blocks - bfree) * bsize;
  const mount = await mountOf(dir);
  return {
    Device: mount.device,
    Mountpoint: mount.point,
    Size: blocks * bsize,
    Used: used,
    Available: bavail * bsize,
    UsedPercent: percentOf(used, used + bavail * bsize),
    InodesUsedPercent: percentOf(files - ffree, files),
  };
}

/** Returns the mount of a directory. If the machine does not show mounts, the result is the directory itself. */
async function mountOf(dir: string): Promise<Mount> {
  const at = await realpath(dir).catch(() => ownDirectory(dir)); // a link may lead to another file system
  const above = (await readMounts()).filter(
    ({ point }) => at === point || at.startsWith(point === '/' ? '/' : `${point}/`),
  );
  return (
    above.toSorted((a, b) => a.point.length - b.point.length).at(-1) ?? { device: at, point: at, type: '', options: [] }
  );
}

const percentOf = (part: number, of: number): number => (of > 0 ? (part / of) * 100 : 0);
