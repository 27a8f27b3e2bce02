import { execFile } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { isErrno } from '@waybill/processes';

const run = promisify(execFile);

/** NamedPipe is a pipe in the file system with both ends open. */
export interface NamedPipe {
  /** The writing end, which also reads: a program never writes to a pipe without a reader. */
  readonly writer: number;
  readonly reader: Socket;
}

/** Makes pipes that only this user may open, in place of any files of these names. */
export async function makeNamedPipes(files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true });
  await run('mkfifo', ['-m', '600', ...files]);
}

/** Returns undefined if there is no pipe. */
export function openBothEnds(file: string): NamedPipe | undefined {
  const writer = openSync(file, constants.O_RDWR);
  const reader = openReader(file);
  return reader && { writer, reader };
}

/** Returns undefined if there is no pipe. */
export function openReader(file: string): Socket | undefined {
  try {
    const socket = new Socket({
      fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK),
      readable: true,
      writable: false,
    });
    socket.on('error', () => {}); // the end of the program is noticed by its process
    return socket.unref();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
