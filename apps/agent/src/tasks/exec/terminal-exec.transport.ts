import { readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { IPty } from '@lydell/node-pty';
import { isErrno } from '@waybill/processes';
import type { ExecSession } from './exec-session.js';
import { killTree } from './kill-tree.transport.js';
import { OutputQueue } from './output-queue.js';
import type { ProcessToExec } from './startable.store.js';

/** Runs a process in its own terminal, which receives both of its outputs. */
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
  // Without an encoding, the data are bytes, although the types say string.
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
      if (line) await writeInput(line, data, () => isOver);
      else terminal.write(Buffer.from(data).toString());
    },
    closeInput: () => terminal.write(END_OF_INPUT),
    // After the end, the number of the terminal's descriptor may belong to another file.
    resize: ({ height, width }) => {
      if (!isOver) terminal.resize(clampCells(width), clampCells(height));
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

/** Line is the descriptor and the socket of a terminal. */
interface Line {
  readonly fd: number;
  readonly socket: Socket;
}

/**
 * Returns the line of a terminal. It is not part of the terminal's interface, but the interface neither says when there
 * is no room nor delivers the last output.
 */
function lineOf(terminal: IPty): Line | undefined {
  const fd = 'fd' in terminal && typeof terminal.fd === 'number' ? terminal.fd : undefined;
  const socket = '_socket' in terminal && terminal._socket instanceof Socket ? terminal._socket : undefined;
  return fd === undefined || !socket ? undefined : { fd, socket };
}

/**
 * Queues the last output before the terminal closes. A terminal is closed 200 ms after its program's end, even while it
 * waits for a slow reader. The remaining output is no more than the buffers of the line, some tens of KiB.
 */
function keepLastOutput({ fd, socket }: Line, queue: OutputQueue): void {
  const close = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (!socket.destroyed) {
      while (socket.read() !== null); // the data listener queues it like earlier output
      for (const data of unreadOf(fd)) void queue.push({ stream: 'stdout', data });
    }
    return close(error);
  };
}

/** The number of bytes per read. */
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
    // EIO: the other side is closed. EAGAIN: there is no output. No other error leaves more output either.
  }
}

/** The interval in milliseconds between two attempts to write to a full terminal. */
const TYPE_RETRY_MS = 5;

/**
 * Writes to a terminal, and waits while its program does not read. The terminal's own `write` would block the whole
 * process meanwhile.
 */
async function writeInput({ fd, socket }: Line, data: Uint8Array, isOver: () => boolean): Promise<void> {
  // After the close, the descriptor's number may belong to another file.
  for (let rest = data; rest.byteLength > 0 && !isOver() && !socket.destroyed;) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (isErrno(error, 'EIO')) return; // the program has ended
      if (!isErrno(error, 'EAGAIN')) throw error;
      await new Promise((resolve) => setTimeout(resolve, TYPE_RETRY_MS));
    }
  }
}

/** Control-D, which a terminal interprets as the end of input. */
const END_OF_INPUT = '\u0004';

/** Limits a number to the possible sizes of a terminal. */
const clampCells = (cells: number): number => Math.min(Math.max(Math.trunc(cells) || 1, 1), 65_535);
