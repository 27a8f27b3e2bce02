import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf, isAlive, makeDirectory, type ProcessIdentity, sendSignal } from '@waybill/processes';
import { handshakeEnvironment, parseHandshake, type PluginAddress, PluginStartError } from './handshake.js';
import { makeNamedPipes, type NamedPipe, openBothEnds, openReader } from './named-pipes.js';
import { type CallObserver, PluginConnection } from './plugin-connection.js';
import { PluginLog, type PluginLogLine } from './plugin-log.js';

/** Longest time from the start of a plugin to its handshake line (PG-3). */
export const HANDSHAKE_TIMEOUT_MS = 60_000;
/** Longest time that a plugin may take to end after it was asked to (PG-11). */
export const SHUTDOWN_TIMEOUT_MS = 2_000;
/** A handshake line is not longer than this. */
const MAX_HANDSHAKE_CHARS = 8 * 1024;
/** The interval in milliseconds between two looks at a process that is no child of the agent (PG-12). */
const WATCH_MS = 500;
/** Sockets lie in the temporary directory of the plugin, and their paths are limited (PG-5). */
const MAX_DIRECTORY_CHARS = 80;

/** PluginProgram is how a plugin is started. */
export interface PluginProgram {
  readonly file: string;
  readonly args: readonly string[];
  /** The environment without the variables of the handshake. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory of its sockets and pipes. It is made if it is missing. */
  readonly dir: string;
  readonly log: (line: PluginLogLine) => void;
  /** The default is HANDSHAKE_TIMEOUT_MS. */
  readonly handshakeTimeoutMs?: number;
  /** Receives the duration of each call. */
  readonly observe?: CallObserver;
}

/** PluginRecord is what a later agent needs to take a plugin up again (PG-71). */
export interface PluginRecord extends PluginAddress {
  readonly process: ProcessIdentity;
  readonly dir: string;
}

/** The status of an ended process: `exit status 1`, `signal: killed`. */
export type PluginExit = string;

/**
 * PluginProcess is the process of one plugin, and the connection to it.
 *
 * starting → connected → ended. The process has a process group of its own (PG-9), and its standard output and error
 * are pipes that it holds open itself: an agent that is killed leaves it running and unharmed, and the next one reads
 * on. A full pipe blocks the plugin until then. `end` and a failed start leave no process behind.
 */
export class PluginProcess {
  private constructor(
    readonly record: PluginRecord,
    readonly connection: PluginConnection,
    /** Resolves when the process has ended. */
    readonly exited: Promise<PluginExit>,
  ) {}

  /** Starts a plugin and connects to it. @throws PluginStartError */
  static async start(program: PluginProgram): Promise<PluginProcess> {
    const { file, args, dir, log, observe, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = program;
    await makeDirectory(dir, { mode: 0o700 });
    const pipes = await makePipes(dir);
    const child = spawn(file, args, {
      env: { ...program.env, ...handshakeEnvironment(), ...temporaryDirectory(dir) },
      detached: true,
      stdio: ['ignore', pipes.stdout.writer, pipes.stderr.writer],
    });
    closeSync(pipes.stdout.writer);
    closeSync(pipes.stderr.writer);
    const exited = new Promise<PluginExit>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ? `signal: ${signal}` : `exit status ${code}`));
    });
    child.unref();
    readLog(pipes.stderr.reader, log);
    const identity = child.pid === undefined ? undefined : identityOf(child.pid);
    const waiting = new AbortController();
    try {
      const line = await Promise.race([
        firstLine(pipes.stdout.reader),
        exited.then((how) => {
          throw new PluginStartError(`plugin exited before we could connect: ${how}`);
        }),
        pause(handshakeTimeoutMs, undefined, { signal: waiting.signal }).then(() => {
          throw new PluginStartError('timeout while waiting for plugin to start');
        }),
      ]);
      if (!identity) throw new PluginStartError('plugin exited before we could connect');
      const address = parseHandshake(line);
      const connection = await PluginConnection.open(address, exited, (text) => logOutput(text, log), observe);
      return new PluginProcess({ ...address, process: identity, dir }, connection, exited);
    } catch (error) {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        sendSignal(child.pid, 'SIGKILL', true);
      throw error;
    } finally {
      waiting.abort();
    }
  }

  /**
   * Takes a plugin up again that an earlier agent started (PG-72). A process that only has the same number is not
   * touched; a plugin that does not answer is killed.
   * @throws PluginStartError if it is gone, does not answer, or its socket is not of this user (PG-134)
   */
  static async reattach(
    record: PluginRecord,
    log: (line: PluginLogLine) => void,
    observe?: CallObserver,
  ): Promise<PluginProcess> {
    if (!isAlive(record.process)) throw new PluginStartError('the process of the plugin has ended');
    if (record.network === 'unix') await checkSocket(record.address);
    for (const name of ['stdout', 'stderr'] as const) {
      const reader = openReader(pipeIn(record.dir, name));
      if (reader) readLog(reader, log);
    }
    const exited = endOf(record.process);
    try {
      const connection = await PluginConnection.open(record, exited, (text) => logOutput(text, log), observe);
      return new PluginProcess(record, connection, exited);
    } catch (error) {
      sendSignal(record.process.pid, 'SIGKILL'); // it is the plugin's process, and it will not answer the next agent either
      throw error;
    }
  }

  get pid(): number {
    return this.record.process.pid;
  }

  /**
   * Ends the plugin: it is asked to, and killed if it does not end (PG-11). Resolves when it is gone.
   * @param isDriver whether the plugin has the driver's own shutdown, which comes first
   */
  async end(isDriver: boolean): Promise<void> {
    const ask = (service: 'driver' | 'controller'): Promise<unknown> =>
      this.connection
        .call({ service, method: 'Shutdown', request: {} }, { timeoutMs: SHUTDOWN_TIMEOUT_MS })
        .catch(() => undefined); // it is killed if it does not end
    if (isDriver) await ask('driver');
    await ask('controller');
    const waiting = new AbortController();
    const late = pause(SHUTDOWN_TIMEOUT_MS, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([this.exited, late]);
    waiting.abort();
    await this.kill();
  }

  /** Kills the plugin, and removes its socket (PG-13). Tasks in its process group go on, because it may recover them. */
  async kill(): Promise<void> {
    if (isAlive(this.record.process)) sendSignal(this.pid, 'SIGKILL');
    await this.exited;
    this.connection.close();
    await removeSocket(this.record);
  }
}

/**
 * Removes the socket of a plugin that has ended. Its pipes stay: the next process of the plugin may have replaced them
 * already, and a start removes those that it finds.
 */
async function removeSocket({ network, address }: PluginRecord): Promise<void> {
  if (network === 'unix' && path.isAbsolute(address)) await rm(address, { force: true });
}

const pipeIn = (dir: string, name: 'stdout' | 'stderr'): string => path.join(dir, `${name}.pipe`);

const temporaryDirectory = (dir: string): Record<string, string> =>
  dir.length > MAX_DIRECTORY_CHARS ? {} : { TMPDIR: dir };

async function makePipes(dir: string): Promise<Record<'stdout' | 'stderr', NamedPipe>> {
  const files = { stdout: pipeIn(dir, 'stdout'), stderr: pipeIn(dir, 'stderr') };
  await makeNamedPipes(Object.values(files));
  return { stdout: openedPipe(files.stdout), stderr: openedPipe(files.stderr) };
}

function openedPipe(file: string): NamedPipe {
  const pipe = openBothEnds(file);
  if (!pipe) throw new PluginStartError(`the pipe ${file} is gone`);
  return pipe;
}

function firstLine(stdout: Socket): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    stdout.ref();
    stdout.setEncoding('utf8').on('data', (chunk: string | Buffer) => {
      if (text.length > MAX_HANDSHAKE_CHARS || text.includes('\n')) return; // what comes later is dropped
      text += String(chunk);
      if (text.length > MAX_HANDSHAKE_CHARS || text.includes('\n'))
        resolve(text.slice(0, MAX_HANDSHAKE_CHARS).split('\n')[0] ?? '');
      stdout.unref();
    });
  });
}

function readLog(stderr: Socket, log: (line: PluginLogLine) => void): void {
  const lines = new PluginLog();
  stderr.setEncoding('utf8').on('data', (chunk: string | Buffer) => {
    for (const line of lines.take(String(chunk))) log(line);
  });
}

function logOutput(text: string, log: (line: PluginLogLine) => void): void {
  for (const message of text.split('\n')) if (message.trim() !== '') log({ level: 'debug', message, fields: {} });
}

async function endOf(identity: ProcessIdentity): Promise<PluginExit> {
  while (isAlive(identity)) await pause(WATCH_MS, undefined, { ref: false });
  return 'ended';
}

/** @throws PluginStartError unless the socket belongs to the user of this process */
async function checkSocket(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isSocket()) throw new PluginStartError(`the plugin's socket ${file} is gone`);
  if (found.uid !== process.getuid?.()) throw new PluginStartError(`the plugin's socket ${file} is of another user`);
}
