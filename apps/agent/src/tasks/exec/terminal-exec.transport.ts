import { readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { IPty } from '@lydell/node-pty';
import { isErrno } from '@waybill/processes';
import type { ExecSession } from './exec-session.js';
import { killTree } from './kill-tree.transport.js';
import { OutputQueue } from './output-queue.js';
import type { ProcessToExec } from './startable.store.js';

/** Runs it at a terminal of its own, which both its outputs go to. */
export async function execInTerminal({ file, args, cwd, env, user }: ProcessToExec): Promise<ExecSession> {
  const { spawn: spawnInTerminal } = await import('@lydell/node-pty'); // most machines never open a terminal
  const terminal: IPty = spawnInTerminal(file, [...args], {
    cwd,
    env: { TERM: 'xterm', ...env },
    encoding: null,
    ...user,
  });
  const queue = new OutputQueue();
  const line = lineOf(terminal);
  if (line) keepLastOutput(line, queue);
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
    read: () => queue.takeOutput(),
    write: async (data) => {
      if (line) await type(line, data, () => isOver);
      else terminal.write(Buffer.from(data).toString());
    },
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

/** What a terminal is read and written through. */
interface Line {
  readonly fd: number;
  readonly socket: Socket;
}

/** It is not part of the terminal's interface, which neither says when it has no room nor gives the last of its output. */
function lineOf(terminal: IPty): Line | undefined {
  const fd = 'fd' in terminal && typeof terminal.fd === 'number' ? terminal.fd : undefined;
  const socket = '_socket' in terminal && terminal._socket instanceof Socket ? terminal._socket : undefined;
  return fd === undefined || !socket ? undefined : { fd, socket };
}

/**
 * A terminal is closed 200 ms after the end of its program, also while it waits for a slow reader: what it still has goes
 * into the queue first. That is no more than the buffers of the line, some tens of KiB.
 */
function keepLastOutput({ fd, socket }: Line, queue: OutputQueue): void {
  const close = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (!socket.destroyed) {
      while (socket.read() !== null); // told as data like all before it
      for (const data of unreadOf(fd)) void queue.push({ stream: 'stdout', data });
    }
    return close(error);
  };
}

/** Bytes asked for at once. */
const READ_BYTES = 16 * 1024;

function* unreadOf(fd: number): Generator<Uint8Array> {
  try {
    for (;;) {
      const chunk = Buffer.alloc(READ_BYTES);
      const length = readSync(fd, chunk);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } catch {
    // EIO: the other side is closed; EAGAIN: it has nothing. Whatever else it is, nothing more can be had.
  }
}

/** A terminal that takes no more is tried again after this. */
const TYPE_RETRY_MS = 5;

/**
 * Writes to a terminal, and waits while its program does not read. Its own `write` would hold the whole process up until
 * then.
 */
async function type({ fd, socket }: Line, data: Uint8Array, isOver: () => boolean): Promise<void> {
  // Where it is closed, the descriptor's number is somebody else's.
  for (let rest = data; rest.byteLength > 0 && !isOver() && !socket.destroyed;) {
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
