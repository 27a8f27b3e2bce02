import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { INSIDE, type TaskPaths } from '../driver.js';
import type { TaskView } from '../find-command.js';
import { asAbsolute, belowAsText } from '../../paths/path-name.js';

/** Directories of the machine that a task sees where the agent is not told otherwise; those that are there (AG-280). */
export const DEFAULT_CHROOT: Readonly<Record<string, string>> = Object.fromEntries(
  ['/bin', '/etc', '/lib', '/lib32', '/lib64', '/run/resolvconf', '/run/systemd/resolve', '/sbin', '/usr'].map(
    (dir) => [dir, dir],
  ),
);

/** A directory of the machine, and where a task sees it. */
export interface ChrootEntry {
  readonly source: string;
  readonly destination: string;
}

/** The directories of the machine that make the root of tasks, outer ones first. Immutable. */
export class Chroot {
  readonly entries: readonly ChrootEntry[];

  /** @param configured where tasks see a directory, by its path on the machine; those that are not there are left out */
  constructor(configured: Readonly<Record<string, string>>) {
    this.entries = Object.entries(configured)
      .filter(([source]) => existsSync(source))
      .map(([source, destination]) => ({ source, destination: asAbsolute(destination) }))
      .toSorted((a, b) => (a.destination < b.destination ? -1 : 1));
  }

  /** Where a program of the machine is inside; undefined: nowhere. */
  inside(file: string): string | undefined {
    for (const { source, destination } of this.entries)
      if (file.startsWith(`${source}/`)) return belowAsText(destination, path.relative(source, file));
    return undefined;
  }

  /** What a task whose directories are these sees. */
  viewOf(paths: TaskPaths): TaskView {
    return { localDir: INSIDE.localDir, taskDir: '/', onMachine: (file) => this.onMachine(file, paths) };
  }

  private onMachine(file: string, { allocDir, taskDir }: TaskPaths): string | undefined {
    const entry = this.entries.findLast(({ destination }) => isBelow(destination, file));
    if (entry) return belowAsText(entry.source, path.relative(entry.destination, file));
    const own = isBelow(INSIDE.allocDir, file)
      ? belowAsText(allocDir, path.relative(INSIDE.allocDir, file))
      : belowAsText(taskDir, file);
    // A task could have made a link there that leads the agent to files of the machine.
    return existsSync(own) && isBelow(realpathSync(path.dirname(taskDir)), realpathSync(own)) ? own : undefined;
  }
}

const isBelow = (dir: string, file: string): boolean => file.startsWith(`${dir}/`);
