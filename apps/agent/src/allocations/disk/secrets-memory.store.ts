import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { unmountBelow } from './mount-table.store.js';
import { below } from '../../paths/path-name.js';

/** The size of the in-memory file system with the secrets of a task (AG-220). */
const SIZE = '1m';
/** The device name of these file systems in the machine's table of mounts. */
export const SECRETS_DEVICE = 'waybill-secrets';
const MOUNT = ['-t', 'tmpfs', '-o', `size=${SIZE},mode=700,nosuid,nodev,noexec`, SECRETS_DEVICE];

/** NoSecretsMemoryError says that secrets of tasks are on this machine's disk. The message says why. */
export class NoSecretsMemoryError extends Error {
  override readonly name = 'NoSecretsMemoryError';
}

/** This shell code reads one directory per line. It prints the messages of `mount`, and then the exit code. */
const MOUNTER = `while IFS= read -r dir; do mount "$@" "$dir" 2>&1; echo "= $?"; done`;
const ENDED = '= ';
const WELL = `${ENDED}0`;

/**
 * SecretsMemory mounts an in-memory file system for the secrets of each task (AG-220). The mounts belong to the
 * machine: they survive even a killed agent, and the next agent finds them. The removal of the allocation's directory
 * removes them.
 *
 * One shell makes the mounts one after the other. It lives from the first mount until `close`. Starting `mount` from
 * this process would fork the whole agent for each start of a task. Cost: that shell, and at most SIZE per task.
 */
export class SecretsMemory {
  private shell: ChildProcessByStdio<Writable, Readable, null> | undefined;
  /** The unanswered requests, in order. */
  private pendingMounts: ((trouble: string) => void)[] = [];

  private constructor() {}

  /**
   * Tests whether the machine supports such mounts.
   * @param dir the directory for the test
   * @throws NoSecretsMemoryError
   */
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
   * Mounts a file system over an empty directory. A directory with contents stays as it is, because it is in use.
   * @param isNew whether the directory was made just now
   * @returns whether the file system is new
   * @throws an error if it cannot be mounted
   */
  async mountOver(directory: string, isNew: boolean): Promise<boolean> {
    // The shell reads one directory per line.
    if (directory.includes('\n')) throw new Error('no file system in memory for secrets: the path has a line break');
    if (!isNew && isInUse(directory)) return false;
    const trouble = await this.mount(directory);
    if (trouble !== '') throw new Error(`no file system in memory for secrets: ${trouble}`);
    return true;
  }

  /** Unmounts all of these file systems below a directory, for tasks that have ended with their agent. */
  async unmountTree(directory: string): Promise<void> {
    await unmountBelow(directory, SECRETS_DEVICE);
  }

  close(): void {
    this.shell?.stdin.end();
  }

  /** Mounts the file system. @returns the error message, or an empty text */
  private mount(directory: string): Promise<string> {
    return new Promise((resolve) => {
      this.shell ??= this.startShell();
      this.pendingMounts.push(resolve);
      this.shell.stdin.write(`${directory}\n`);
    });
  }

  private startShell(): ChildProcessByStdio<Writable, Readable, null> {
    const shell = spawn('/bin/sh', ['-c', MOUNTER, 'waybill-secrets', ...MOUNT], { stdio: ['pipe', 'pipe', 'ignore'] });
    let said: string[] = [];
    createInterface(shell.stdout).on('line', (line) => {
      if (!line.startsWith(ENDED)) return void said.push(line);
      this.pendingMounts.shift()?.(line === WELL ? '' : said.join(' ') || 'mount failed');
      said = [];
    });
    shell.stdin.on('error', () => {}); // the shell's exit reports it
    const handleShellEnd = (): void => {
      this.shell = undefined;
      for (const answer of this.pendingMounts.splice(0)) answer('the shell that mounts has ended');
    };
    shell.once('error', handleShellEnd).once('exit', handleShellEnd);
    return shell;
  }
}

/** Returns the program's message in one line, or the system's error if the program never ran. */
function whyNot(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = 'stderr' in error && Buffer.isBuffer(error.stderr) ? error.stderr.toString().trim() : '';
  return (said || error.message).replaceAll(/\s+/g, ' ');
}

/** Says whether the directory is a mount already or has contents. */
const isInUse = (directory: string): boolean =>
  statSync(directory).dev !== statSync(path.dirname(directory)).dev || readdirSync(directory).length > 0;
