import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { unmountBelow } from './mount-table.store.js';
import { below } from '../../paths/path-name.js';

/** Size of the file system in memory that holds the secrets of a task (AG-220). */
const SIZE = '1m';
/** How such a file system is called in the machine's table of mounts. */
export const SECRETS_DEVICE = 'waybill-secrets';
const MOUNT = ['-t', 'tmpfs', '-o', `size=${SIZE},mode=700,nosuid,nodev,noexec`, SECRETS_DEVICE];

/** Why secrets of tasks are on this machine's disk. */
export class NoSecretsMemoryError extends Error {
  override readonly name = 'NoSecretsMemoryError';
}

/** One directory a line; what `mount` says, and then how it ended. */
const MOUNTER = `while IFS= read -r dir; do mount "$@" "$dir" 2>&1; echo "= $?"; done`;
const ENDED = '= ';
const WELL = `${ENDED}0`;

/**
 * A file system in memory for the secrets of each task (AG-220). What is mounted belongs to the machine: it outlives the
 * agent, whoever kills it, and is found by the next one, because it is there. It goes with the directory of its allocation.
 *
 * Mounts are made by a shell, one after the other, which lives from the first until `close`: to start `mount` from here
 * would be a fork of all that the agent holds, for each start of a task. Cost: that shell, and SIZE at most for each task.
 */
export class SecretsMemory {
  private shell: ChildProcessByStdio<Writable, Readable, null> | undefined;
  /** Asked for and not answered, in order. */
  private asked: ((trouble: string) => void)[] = [];

  private constructor() {}

  /** @param dir where a trial is made @throws NoSecretsMemoryError */
  static find(dir: string): SecretsMemory {
    if (process.platform !== 'linux') throw new NoSecretsMemoryError('only Linux is known to have one');
    if (process.getuid?.() !== 0) throw new NoSecretsMemoryError('the agent does not run as root');
    mkdirSync(dir, { recursive: true });
    const trial = mkdtempSync(below(dir, 'trial-'));
    try {
      execFileSync('mount', [...MOUNT, trial], { stdio: 'pipe' });
      execFileSync('umount', ['--lazy', trial], { stdio: 'pipe' });
    } catch (error) {
      throw new NoSecretsMemoryError(whyNot(error));
    } finally {
      rmdirSync(trial);
    }
    return new SecretsMemory();
  }

  /**
   * Mounts one over an empty directory; what holds something already stays as it is, for somebody uses it.
   * @param isNew the directory was made just now
   * @returns whether it is a new one
   * @throws why it cannot be mounted
   */
  async cover(directory: string, isNew: boolean): Promise<boolean> {
    // The shell takes one directory a line.
    if (directory.includes('\n')) throw new Error('no file system in memory for secrets: the path has a line break');
    if (!isNew && isInUse(directory)) return false;
    const trouble = await this.mount(directory);
    if (trouble !== '') throw new Error(`no file system in memory for secrets: ${trouble}`);
    return true;
  }

  /** Takes away all that are mounted below a directory: of tasks that have ended with their agent. */
  async uncover(directory: string): Promise<void> {
    await unmountBelow(directory, SECRETS_DEVICE);
  }

  close(): void {
    this.shell?.stdin.end();
  }

  /** @returns what went wrong, or nothing */
  private mount(directory: string): Promise<string> {
    return new Promise((resolve) => {
      this.shell ??= this.begin();
      this.asked.push(resolve);
      this.shell.stdin.write(`${directory}\n`);
    });
  }

  private begin(): ChildProcessByStdio<Writable, Readable, null> {
    const shell = spawn('/bin/sh', ['-c', MOUNTER, 'waybill-secrets', ...MOUNT], { stdio: ['pipe', 'pipe', 'ignore'] });
    let said: string[] = [];
    createInterface(shell.stdout).on('line', (line) => {
      if (!line.startsWith(ENDED)) return void said.push(line);
      this.asked.shift()?.(line === WELL ? '' : said.join(' ') || 'mount failed');
      said = [];
    });
    shell.stdin.on('error', () => {}); // told by what follows
    const gone = (): void => {
      this.shell = undefined;
      for (const answer of this.asked.splice(0)) answer('the shell that mounts has ended');
    };
    shell.once('error', gone).once('exit', gone);
    return shell;
  }
}

/** What the program said, in one line; the system, if it never ran. */
function whyNot(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = 'stderr' in error && Buffer.isBuffer(error.stderr) ? error.stderr.toString().trim() : '';
  return (said || error.message).replaceAll(/\s+/g, ' ');
}

/** It is one already, or has something in it. */
const isInUse = (directory: string): boolean =>
  statSync(directory).dev !== statSync(path.dirname(directory)).dev || readdirSync(directory).length > 0;
