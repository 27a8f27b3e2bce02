import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { INSIDE, type TaskPaths } from '../driver.js';
import type { TaskView } from '../find-command.js';
import { asAbsolute, belowAsText } from '../../paths/path-name.js';

/** The default directories of the machine that a task sees. Missing ones are left out (AG-280). */
export const DEFAULT_CHROOT: Readonly<Record<string, string>> = Object.fromEntries(
  ['/bin', '/etc', '/lib', '/lib32', '/lib64', '/run/resolvconf', '/run/systemd/resolve', '/sbin', '/usr'].map(
    (dir) => [dir, dir],
  ),
);

/** ChrootEntry is a directory of the machine, and its path in a task. */
export interface ChrootEntry {
  readonly source: string;
  readonly destination: string;
}

/** Chroot holds the machine's directories that form the root of tasks, outer ones first. Immutable. */
export class Chroot {
  readonly entries: readonly ChrootEntry[];

  /**
   * @param configured the path in tasks of each directory, by its path on the machine; missing directories are left out
   */
  constructor(configured: Readonly<Record<string, string>>) {
    this.entries = Object.entries(configured)
      .filter(([source]) => existsSync(source))
      .map(([source, destination]) => ({ source, destination: asAbsolute(destination) }))
      .toSorted((a, b) => (a.destination < b.destination ? -1 : 1));
  }

  /** Returns the path in a task of a program of the machine, or undefined if tasks do not see it. */
  pathInside(file: string): string | undefined {
    for (const { source, destination } of this.entries)
      if (file.startsWith(`${source}/`)) return belowAsText(destination, path.relative(source, file));
    return undefined;
  }

  /** Returns the view of files of a task with these directories. */
  viewOf(paths: TaskPaths): TaskView {
    return { localDir: INSIDE.localDir, taskDir: '/', onMachine: (file) => this.onMachine(file, paths) };
  }

  private onMachine(file: string, { allocDir, taskDir }: TaskPaths): string | undefined {
    const entry = this.entries.findLast(({ destination }) => isBelow(destination, file));
    if (entry) return belowAsText(entry.source, path.relative(entry.destination, file));
    const own = isBelow(INSIDE.allocDir, file)
      ? belowAsText(allocDir, path.relative(INSIDE.allocDir, file))
      : belowAsText(taskDir, file);
    // A task could have made a link in its directory that leads the agent to files of the machine.
    return existsSync(own) && isBelow(realpathSync(path.dirname(taskDir)), realpathSync(own)) ? own : undefined;
  }
}

const isBelow = (dir: string, file: string): boolean => file.startsWith(`${dir}/`);
