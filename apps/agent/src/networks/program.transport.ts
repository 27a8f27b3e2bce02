import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { below, pathName } from '../paths/path-name.js';

/** Of what a program prints, the beginning counts: an answer of a plugin has a few kilobytes. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

export interface ProgramRun {
  readonly file: string;
  readonly args: readonly string[];
  /** Absent: of the programs of the machine, where those are. */
  readonly env?: Readonly<Record<string, string>>;
  /** Absent: nothing. */
  readonly stdin?: string;
  readonly timeoutMs: number;
}

export interface ProgramEnd {
  /** null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** It was killed because its time was over. */
  readonly isLate: boolean;
}

/** Runs a program to its end. @throws what the system says when it cannot be started */
export type RunProgram = (run: ProgramRun) => Promise<ProgramEnd>;

const PROGRAM_DIRECTORIES = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Where programs of the machine are looked for by those that the agent starts. */
export const PROGRAM_PATH = PROGRAM_DIRECTORIES.join(':');

/** What namespaces are made, mounted and entered with. */
export const NETWORK_PROGRAMS = ['unshare', 'nsenter', 'mount', 'umount'];

/** A program of the machine; undefined: it has none of that name. */
export const programOfMachine = (name: string): string | undefined =>
  PROGRAM_DIRECTORIES.map((dir) => below(dir, pathName(name))).find((file) => existsSync(file));

/** Runs it as a group of its own, so that a late one is killed with all that it started. */
export const runProgram: RunProgram = ({ file, args, env, stdin, timeoutMs }) =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: env ?? { PATH: PROGRAM_PATH },
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const stdout = collected(child.stdout);
    const stderr = collected(child.stderr);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child);
    }, timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.stdin.on('error', () => {}); // it does not read
    child.stdin.end(stdin ?? '');
    // What it left running may hold its output open; the exit is what counts then.
    child.once('exit', (code) => {
      clearTimeout(timer);
      void Promise.race([Promise.all([stdout.ended, stderr.ended]), shortly()]).then(() => {
        for (const stream of [child.stdout, child.stderr]) stream.destroy();
        resolve({ code, stdout: stdout.text(), stderr: stderr.text(), isLate });
      });
    });
  });

/** How long output of a program that has ended is waited for. */
const LAST_OUTPUT_MS = 500;
const shortly = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LAST_OUTPUT_MS).unref());

function collected(stream: Readable): { readonly text: () => string; readonly ended: Promise<void> } {
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
    // It has just ended by itself.
  }
}

/** What a program said of its failure, in one line. */
export function whyItFailed({ code, stdout, stderr, isLate }: ProgramEnd): string {
  if (isLate) return 'it did not end in time and was killed';
  const said = (stderr.trim() || stdout.trim()).replaceAll(/\s+/g, ' ');
  return said || (code === null ? 'a signal ended it' : `it ended with ${code}`);
}
