import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ApiClient } from './api-client.js';
import { eventually } from './wait.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = fileURLToPath(new URL('../../apps/dev/dist/main.js', import.meta.url));

/** A first start creates a database; eight processes may start at once on two busy cores. */
export const UP_TIMEOUT_MS = 90_000;
/** A server has 15 s to end in order before its watcher kills it. */
export const GONE_TIMEOUT_MS = 25_000;

export interface Process {
  readonly pid: number;
  readonly commandLine: string;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LauncherOptions {
  readonly port: number;
  readonly dataDir: string;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** A program with arguments to run it by, e.g. to be somebody else. */
  readonly by?: readonly string[];
}

/** `npm start`, as a person runs it, without npm around it. */
export class Launcher {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly api: ApiClient;
  readonly ended: Promise<Ending>;

  constructor(options: LauncherOptions) {
    const args = ['--port', `${options.port}`, '--data-dir', options.dataDir, ...(options.args ?? [])];
    const [command = '', ...rest] = [...(options.by ?? []), process.execPath, '--enable-source-maps', MAIN, ...args];
    this.child = spawn(command, rest, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.api = new ApiClient(`http://127.0.0.1:${options.port}`);
    this.ended = once(this.child, 'close').then(([code, signal]) => ({ code, signal }) as Ending);
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits until it has printed this. */
  async says(text: string | RegExp, timeoutMs = UP_TIMEOUT_MS): Promise<this> {
    await eventually(
      `the launcher says ${text}`,
      () => {
        if (typeof text === 'string' ? this.stdout.includes(text) : text.test(this.stdout)) return true;
        // A failure that comes as a value ends the waiting; one that is thrown would be tried again.
        return !this.running;
      },
      timeoutMs,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.stdout}\n${this.stderr}`);
    });
    if (!this.running) throw new Error(`the launcher ended\n${this.stdout}\n${this.stderr}`);
    return this;
  }

  up(): Promise<this> {
    return this.says('Ctrl-C stops everything');
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** One Ctrl-C, and how it ended. */
  async interrupt(): Promise<Ending> {
    this.kill('SIGINT');
    return await this.ended;
  }
}

/** All processes that have anything to do with a directory: their program, arguments, working directory or environment. */
export function processesOf(dir: string): Process[] {
  const found: Process[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const read = (file: string): string => {
      try {
        return file === 'cwd' ? readlinkSync(`/proc/${pid}/cwd`) : readFileSync(`/proc/${pid}/${file}`, 'utf8');
      } catch {
        return ''; // it has ended meanwhile
      }
    };
    const commandLine = read('cmdline').replaceAll('\0', ' ');
    if ([commandLine, read('cwd'), read('environ')].some((text) => text.includes(dir)))
      found.push({ pid, commandLine });
  }
  return found;
}

/** Ends all that has anything to do with a directory; what has ended by itself meanwhile is done. */
export function killProcessesOf(dir: string): void {
  for (const { pid } of processesOf(dir)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/** Waits until nothing of a directory runs any more. */
export async function nothingRuns(dir: string): Promise<void> {
  await eventually(
    'no process is left',
    () => {
      const left = processesOf(dir);
      if (left.length > 0) throw new Error(JSON.stringify(left));
      return true;
    },
    GONE_TIMEOUT_MS,
  );
}
