// The storage provider behind the plugin: disks are directories below one root, kept in a file with who has them attached.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

/** Whether this process may mount; without it a published volume is a link. */
export const canMount = process.getuid?.() === 0;

/**
 * @typedef {{ id: string, name: string, bytes: string }} Disk
 * @typedef {{ id: string, name: string, source: string, bytes: string }} Cut
 * @typedef {{ disks: Disk[], attached: { disk: string, node: string }[], cuts: Cut[] }} Provided
 */

export class Disks {
  /** @param {string} root */
  constructor(root) {
    this.root = root;
    this.file = path.join(root, 'provider.json');
    mkdirSync(path.join(root, 'disks'), { recursive: true });
  }

  /** @returns {Provided} */
  get provided() {
    if (!existsSync(this.file)) return { disks: [], attached: [], cuts: [] };
    return JSON.parse(readFileSync(this.file, 'utf8'));
  }

  /** @param {(provided: Provided) => void} change */
  change(change) {
    const provided = this.provided;
    change(provided);
    // At once: others read it meanwhile, and whoever writes may be killed.
    const next = `${this.file}.${process.pid}`;
    writeFileSync(next, JSON.stringify(provided));
    renameSync(next, this.file);
  }

  /** @param {string} id */
  directory(id) {
    return path.join(this.root, 'disks', encodeURIComponent(id));
  }

  /** @param {string} id */
  find(id) {
    return this.provided.disks.find((disk) => disk.id === id);
  }

  /** @param {Disk} disk */
  add(disk) {
    mkdirSync(this.directory(disk.id), { recursive: true });
    this.change(({ disks }) => void disks.push(disk));
    return disk;
  }

  /** @param {string} id */
  remove(id) {
    rmSync(this.directory(id), { recursive: true, force: true });
    this.change((provided) => {
      provided.disks = provided.disks.filter((disk) => disk.id !== id);
    });
  }
}

/** @param {string} target */
export function isMounted(target) {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[4] === target);
}

/**
 * What a test that failed has left mounted.
 *
 * @param {string} root
 */
export function unmountBelow(root) {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  for (const point of points.toReversed()) if (point.startsWith(`${root}/`)) execFileSync('umount', [point]);
}

/**
 * @param {string} source
 * @param {string} target
 * @param {boolean} readonly
 */
export function mount(source, target, readonly) {
  if (!canMount) {
    if (!existsSync(target)) symlinkSync(source, target);
    return;
  }
  mkdirSync(target, { recursive: true });
  if (isMounted(target)) return;
  execFileSync('mount', ['--bind', source, target]);
  if (readonly) execFileSync('mount', ['-o', 'remount,bind,ro', target]);
}

/**
 * @param {string} target
 * @param {{ removes: boolean }} options whether the target was made here
 */
export function unmount(target, { removes }) {
  if (!existsSync(target)) return;
  if (!canMount) return removes ? unlinkSync(target) : undefined;
  if (isMounted(target)) execFileSync('umount', [target]);
  if (removes) rmdirSync(target);
}
