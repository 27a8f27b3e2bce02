import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { below, pathName } from '../paths/path-name.js';

/** The largest number of bytes that are kept of a program's output. An answer of a plugin has a few kilobytes. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

export interface ProgramRun {
  readonly file: string;
  readonly args: readonly string[];
  /** The environment; absent means only a PATH to the programs of the machine. */
  readonly env?: Readonly<Record<string, string>>;
  /** The input; absent means none. */
  readonly stdin?: string;
  readonly timeoutMs: number;
}

export interface ProgramEnd {
  /** The exit code; null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether it was killed because of the timeout. */
  readonly isLate: boolean;
}

/** RunProgram runs a program to its end. @throws the system's error if it cannot be started */
export type RunProgram = (run: ProgramRun) => Promise<ProgramEnd>;

const PROGRAM_DIRECTORIES = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** The PATH of programs that the agent starts. */
export const PROGRAM_PATH = PROGRAM_DIRECTORIES.join(':');

/** The programs that make, mount and enter namespaces. */
export const NETWORK_PROGRAMS = ['unshare', 'nsenter', 'mount', 'umount'];

/** Returns the path of a program of the machine, or undefined if there is none. */
export const programOfMachine = (name: string): string | undefined =>
  PROGRAM_DIRECTORIES.map((dir) => below(dir, pathName(name))).find((file) => existsSync(file));

/** Runs the program in its own process group, so that a late program is killed with all that it started. */
export const runProgram: RunProgram = ({ file, args, env, stdin, timeoutMs }) =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: env ?? { PATH: PROGRAM_PATH },
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const stdout = collectText(child.stdout);
    const stderr = collectText(child.stderr);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child);
    }, timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.stdin.on('error', () => {}); // the program does not read its input
    child.stdin.end(stdin ?? '');
    // A process that it left running may keep the output open. Then the exit alone counts.
    child.once('exit', (code) => {
      clearTimeout(timer);
      void Promise.race([Promise.all([stdout.ended, stderr.ended]), awaitLastOutput()]).then(() => {
        for (const stream of [child.stdout, child.stderr]) stream.destroy();
        resolve({ code, stdout: stdout.text(), stderr: stderr.text(), isLate });
      });
    });
  });

/** The longest wait in milliseconds for the output of a program that has ended. */
const LAST_OUTPUT_MS = 500;
const awaitLastOutput = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LAST_OUTPUT_MS).unref());

function collectText(stream: Readable): { readonly text: () => string; readonly ended: Promise<void> } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < MAX_OUTPUT_BYTES) chunks.push(chunk);
    bytes += chunk.byteLength;
  });
  const ended = new Promise<void>((resolve) => stream.once('close', resolve));
  return { text: () => Buffer.concat(chunks).subarray(0, MAX_OUTPUT_BYTES).toString('utf8'), ended };
}

function killGroup({ pid }: ChildProcessByStdio<Writable, Readable, Readable>): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The program has just ended by itself.
  }
}

/** Returns a program's message about its failure in one line. */
export function failureText({ code, stdout, stderr, isLate }: ProgramEnd): string {
  if (isLate) return 'it did not end in time and was killed';
  const said = (stderr.trim() || stdout.trim()).replaceAll(/\s+/g, ' ');
  return said || (code === null ? 'a signal ended it' : `it ended with ${code}`);
}
