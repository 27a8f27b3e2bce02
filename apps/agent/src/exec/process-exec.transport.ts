import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { IPty } from '@lydell/node-pty';
import { isErrno, sendSignal } from '@waybill/processes';
import { isExecutable } from '../drivers/find-command.js';
import { ProcessTables, treeOf } from '../drivers/process-table.js';
import type { ExecSession } from './exec-session.js';
import { OutputQueue } from './output-queue.js';
import { roomIn } from './room.js';

export interface ProcessToExec {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  readonly tty: boolean;
}

/** Runs a process of the machine, in a session of its own so that it can be killed with all that it started. @throws why it cannot be started */
export async function execProcess(wanted: ProcessToExec): Promise<ExecSession> {
  refuseUnstartable(wanted);
  return wanted.tty ? execInTerminal(wanted) : execWithPipes(wanted);
}

/** A program that does not start. */
export class NotStartableError extends Error {
  override readonly name = 'NotStartableError';
}

/** As much of a file as says who interprets it. */
const SHEBANG_BYTES = 256;

/**
 * What the system would say only by a number, and in a terminal not even of which file: that the program, its directory
 * or its interpreter is missing. One that is found by `PATH` is left to the system. @throws NotStartableError
 */
function refuseUnstartable({ file, cwd }: ProcessToExec): void {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new NotStartableError(`${file} cannot be run in ${cwd}: there is no such directory`);
  if (!path.isAbsolute(file)) return;
  if (!isExecutable(file)) throw new NotStartableError(`executable file not found: ${file}`);
  const interpreter = interpreterOf(file);
  if (interpreter !== undefined && !isExecutable(interpreter))
    throw new NotStartableError(`${file} cannot be run: its interpreter ${interpreter} is missing`);
}

/** Undefined: it is no script, or may not be read. */
function interpreterOf(file: string): string | undefined {
  try {
    const fd = openSync(file, 'r');
    try {
      const head = Buffer.alloc(SHEBANG_BYTES);
      return /^#![ \t]*(\/[^ \t\n]+)/.exec(head.toString('latin1', 0, readSync(fd, head)))?.[1];
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

async function execWithPipes({ file, args, cwd, env, user }: ProcessToExec): Promise<ExecSession> {
  const child = spawn(file, args, { cwd, env, detached: true, stdio: 'pipe', ...user });
  const exitCode = endOf(child);
  exitCode.catch(() => {}); // a failed start is told by the next line
  await once(child, 'spawn');
  const queue = new OutputQueue();
  void Promise.all([pump(child.stdout, 'stdout', queue), pump(child.stderr, 'stderr', queue)]).then(() => queue.end());
  child.stdin.on('error', () => {}); // it does not read any more
  return {
    read: () => queue.take(),
    write: async (data) => {
      if (child.stdin.writable && !child.stdin.write(data)) await roomIn(child.stdin); // closed when it has ended
    },
    closeInput: () => void child.stdin.end(),
    resize: () => {},
    exitCode,
    kill: async () => {
      await killTree(child.pid);
      queue.end();
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      await exitCode;
    },
  };
}

function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

async function pump(from: Readable, stream: 'stdout' | 'stderr', queue: OutputQueue): Promise<void> {
  try {
    for await (const data of from as AsyncIterable<Buffer>) await queue.push({ stream, data });
  } catch {
    // It was killed; what came before is in the queue.
  }
}

async function execInTerminal({ file, args, cwd, env, user }: ProcessToExec): Promise<ExecSession> {
  const { spawn: spawnInTerminal } = await import('@lydell/node-pty'); // most machines never open a terminal
  const terminal: IPty = spawnInTerminal(file, [...args], {
    cwd,
    env: { TERM: 'xterm', ...env },
    encoding: null,
    ...user,
  });
  const queue = new OutputQueue();
  // Without an encoding data are bytes, whatever the types say.
  terminal.onData((data: string | Uint8Array) => {
    terminal.pause();
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    void queue.push({ stream: 'stdout', data: bytes }).then(() => terminal.resume());
  });
  let isOver = false;
  const exitCode = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode: code, signal }) => {
      isOver = true;
      queue.end();
      resolve(signal ? 128 + signal : code);
    });
  });
  return {
    read: () => queue.take(),
    write: (data) => type(terminal, data, () => isOver),
    closeInput: () => terminal.write(END_OF_INPUT),
    // The number of its descriptor is somebody else's when it has ended.
    resize: ({ height, width }) => {
      if (!isOver) terminal.resize(clamp(width), clamp(height));
    },
    exitCode,
    kill: async () => {
      await killTree(terminal.pid);
      queue.end();
      terminal.resume();
      await exitCode;
    },
  };
}

/** A terminal that takes no more is tried again after this. */
const TYPE_RETRY_MS = 5;

/**
 * Writes to a terminal, and waits while its program does not read. Its own `write` would hold the whole process up until
 * then: what it writes through never says that it has no room.
 */
async function type(terminal: IPty, data: Uint8Array, isOver: () => boolean): Promise<void> {
  const fd = 'fd' in terminal && typeof terminal.fd === 'number' ? terminal.fd : undefined;
  const through = '_socket' in terminal && terminal._socket instanceof Socket ? terminal._socket : undefined;
  if (fd === undefined || !through) return terminal.write(Buffer.from(data).toString());
  // Where it is closed, the descriptor's number is somebody else's.
  for (let rest = data; rest.byteLength > 0 && !isOver() && !through.destroyed;) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (isErrno(error, 'EIO')) return; // it has ended
      if (!isErrno(error, 'EAGAIN')) throw error;
      await new Promise((resolve) => setTimeout(resolve, TYPE_RETRY_MS));
    }
  }
}

/** Control-D: what a terminal takes for the end of its input. */
const END_OF_INPUT = '\u0004';

/** What a terminal's size can be. */
const clamp = (cells: number): number => Math.min(Math.max(Math.trunc(cells) || 1, 1), 65_535);

const processes = new ProcessTables();

/**
 * All of its session and what descends from it: an interactive shell gives each of its jobs a group of its own. Where it
 * cannot be looked for, as an agent without descriptors cannot, its group at least.
 */
export async function killTree(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  const table = await processes.fresh().catch(() => undefined);
  if (table) for (const member of treeOf(table, pid)) sendSignal(member.pid, 'SIGKILL');
  else for (const isGroup of [true, false]) sendSignal(pid, 'SIGKILL', isGroup);
}
