import { SharedRun } from '@waybill/model';
import { chmodSync, closeSync, constants, type FSWatcher, mkdirSync, openSync, readSync, watch } from 'node:fs';
import { readdir, readFile, unlink } from 'node:fs/promises';
import { Socket } from 'node:net';
import { isErrno } from '@waybill/processes';
import type { Logger } from '@waybill/telemetry';
import { ContainerLog, type ContainerLogOrder, markFileOf } from './container-log.js';
import { RotatingLog, type RotatingLogSpec } from './rotating-log.js';
import { below, entryName } from '../../paths/path-name.js';

const OWNER_ONLY = 0o700;

/** Makes the collector's directory. No task reads the records in it, also if an earlier version has made it. */
export function makeCollectDirectory(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: OWNER_ONLY });
  chmodSync(dir, OWNER_ONLY);
}

/**
 * The interval in milliseconds between two scans of the directory. They find changes that the file system did not
 * report.
 */
const RESCAN_MS = 1_000;
/**
 * The interval in milliseconds between two attempts to write a stream whose files cannot be written (disk full). Its
 * task waits meanwhile.
 */
const WRITE_RETRY_MS = 1_000;

/**
 * The buffer for the contents of a pipe before its socket reads it. All streams share it, because one such read ends
 * before the next begins.
 */
const PIPE = Buffer.alloc(64 * 1024);

/** The directory's files per stream: `<name>.fifo` to read from, and `<name>.json` with the target. */
export const FIFO_SUFFIX = '.fifo';
export const ORDER_SUFFIX = '.json';
/** The extension of an order for a container whose output an engine keeps: `<name>.container`. */
export const CONTAINER_SUFFIX = '.container';

/**
 * LogCollector moves the output of tasks from their FIFOs into rotating files (AG-240 to AG-245).
 *
 * Files in one directory tell it what to do, so it can be killed and started again at any moment. The FIFOs stay open
 * in the tasks' supervisors, a writer waits while nothing reads, and a new collector continues at the same place. A
 * stream ends when its last writer has closed it. Then all of its output is in its file, and its two entries are
 * removed. A missing FIFO tells the agent that the output is complete. Each container has an order, and ends with it in
 * the same way (container-log.ts). States: stopped → running → stopped. One collector per directory (see
 * collector-process.ts). Memory: one pipe buffer per stream. Cost: two system calls per 64 KiB of output, nothing for a
 * silent task.
 */
export class LogCollector {
  private readonly streams = new Map<string, { stop: () => void; done: Promise<void> }>();
  private watcher: FSWatcher | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly scanning = new SharedRun(() => this.scanStreams());
  private stopped = false;

  constructor(
    private readonly dir: string,
    private readonly logger: Logger,
  ) {}

  /** The number of streams that are being read. */
  get open(): number {
    return this.streams.size;
  }

  async start(): Promise<void> {
    makeCollectDirectory(this.dir);
    this.watcher = watch(this.dir, () => void this.scan());
    this.watcher.on('error', (error) => this.logger.warn('the directory of log streams cannot be watched', { error }));
    this.timer = setInterval(() => void this.scan(), RESCAN_MS);
    this.timer.unref();
    await this.scan();
  }

  /** Stops reading; output that was read is written. The next collector continues the streams. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.watcher?.close();
    clearInterval(this.timer);
    await this.scanning.settled();
    const open = [...this.streams.values()];
    for (const { stop } of open) stop();
    await Promise.all(open.map(({ done }) => done));
  }

  /** Resolves when all current streams are being read. At most one scan of the directory runs at a time. */
  async scan(): Promise<void> {
    if (!this.stopped) await this.scanning.requestRun();
  }

  private async scanStreams(): Promise<void> {
    if (this.stopped) return;
    for (const file of await this.readEntries()) {
      if (file.endsWith(CONTAINER_SUFFIX) && !this.streams.has(file)) await this.startContainerLog(file);
      if (!file.endsWith(ORDER_SUFFIX)) continue;
      const name = file.slice(0, -ORDER_SUFFIX.length);
      if (!this.streams.has(name)) await this.startStream(name);
    }
  }

  private async readEntries(): Promise<string[]> {
    try {
      return await readdir(this.dir);
    } catch (error) {
      // The directory was deleted while tasks still write. A log message would go to a file in it, and wake the watch
      // again.
      if (isErrno(error, 'ENOENT')) this.watcher?.close();
      else this.logger.warn('the directory of log streams cannot be read', { error });
      return [];
    }
  }

  private async startStream(name: string): Promise<void> {
    try {
      const spec = JSON.parse(
        await readFile(below(this.dir, entryName(name + ORDER_SUFFIX)), 'utf8'),
      ) as RotatingLogSpec;
      const fifo = below(this.dir, entryName(name + FIFO_SUFFIX));
      // The socket takes over the descriptor and closes it. The open must not wait for a writer.
      const fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
      const { socket, first } = openPipe(fd);
      const done = this.copyStream(socket, first, new RotatingLog(spec)).then((ended) =>
        this.finishStream(name, ended),
      );
      this.streams.set(name, { stop: () => socket.destroy(), done });
    } catch (error) {
      if (isErrno(error, 'ENOENT'))
        await unlink(below(this.dir, entryName(name + ORDER_SUFFIX))).catch(() => undefined);
      else this.logger.warn('a log stream cannot be read', { stream: name, error });
    }
  }

  private async startContainerLog(file: string): Promise<void> {
    const at = below(this.dir, entryName(file));
    try {
      const order = JSON.parse(await readFile(at, 'utf8')) as ContainerLogOrder;
      const write = (to: RotatingLog, chunk: Buffer): Promise<void> => this.writeUntilDone(to, chunk);
      const log = new ContainerLog(order, markFileOf(at), write, this.logger);
      const done = log.copyOutput().then(async (ended) => {
        if (ended) for (const gone of [markFileOf(at), at]) await unlink(gone).catch(() => undefined);
        this.streams.delete(file);
      });
      this.streams.set(file, { stop: () => log.stop(), done });
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) this.logger.warn('an order for a container cannot be read', { file, error });
    }
  }

  /** Copies a stream. Returns true when it has ended, and false if this collector was stopped. */
  private async copyStream(socket: Socket, first: Buffer | null, log: RotatingLog): Promise<boolean> {
    try {
      if (first) await this.writeUntilDone(log, first);
      else socket.destroy();
      if (first) for await (const chunk of socket) await this.writeUntilDone(log, chunk as Buffer);
      return !this.stopped;
    } catch (error) {
      if (!this.stopped) this.logger.warn('reading a log stream failed', { error });
      return false;
    } finally {
      await log.close();
    }
  }

  private async writeUntilDone(log: RotatingLog, chunk: Buffer): Promise<void> {
    let rest = chunk;
    while (rest.length > 0) {
      try {
        rest = await log.writeSome(rest);
      } catch (error) {
        if (this.stopped) return;
        this.logger.error('task output cannot be written; trying again', { error });
        await new Promise((resolve) => setTimeout(resolve, WRITE_RETRY_MS));
      }
    }
  }

  private async finishStream(name: string, ended: boolean): Promise<void> {
    if (ended) {
      await unlink(below(this.dir, entryName(name + FIFO_SUFFIX))).catch(() => undefined);
      await unlink(below(this.dir, entryName(name + ORDER_SUFFIX))).catch(() => undefined);
    }
    this.streams.delete(name);
  }
}

/**
 * Opens a pipe as a socket.
 * @throws an error if it is no pipe; the descriptor is closed then, because the collector tries again every RESCAN_MS
 */
function openPipe(fd: number): { readonly socket: Socket; readonly first: Buffer | null } {
  try {
    const first = firstChunk(fd);
    return { socket: new Socket({ fd, readable: true, writable: false }), first };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Returns the current contents of the pipe, or null if its last writer has left. No later event would report that,
 * because a pipe without a writer becomes readable only when another one comes and goes.
 */
function firstChunk(fd: number): Buffer | null {
  try {
    const read = readSync(fd, PIPE);
    return read === 0 ? null : Buffer.from(PIPE.subarray(0, read));
  } catch (error) {
    if (isErrno(error, 'EAGAIN')) return Buffer.alloc(0);
    throw error;
  }
}
