import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn as spawnOnTerminal } from '@lydell/node-pty';
import {
  type CommandIo,
  type DriverExit,
  type DriverPlugin,
  type DriverTask,
  serveDriver,
  TaskNotFoundError,
} from '@waybill/plugin-sdk';

/** A task is a shell, which runs the command and writes its exit code to a file. It outlives the plugin. */
interface Running {
  readonly pid: number;
  readonly exitFile: string;
}

interface Known extends Running, Pick<DriverTask, 'directory'> {
  readonly env: Readonly<Record<string, string>>;
}

const SCRIPT = '"$@"; echo $? > "$0.new"; mv "$0.new" "$0"';
const tasks = new Map<string, Known>();
const find = (id: string): Known => {
  const task = tasks.get(id);
  if (!task) throw new TaskNotFoundError();
  return task;
};
const kill = ({ pid }: Pick<Running, 'pid'>, signal: string): void => {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
};
const exitCodeOf = async ({ exitFile }: Running): Promise<number | undefined> =>
  readFile(exitFile, 'utf8').then(Number, () => undefined);
const isAlive = ({ pid }: Running): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Runs a command on a terminal of its own. The caller sets the size. */
function execOnTerminal(
  file: string,
  args: string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  io: CommandIo,
): Promise<DriverExit> {
  const terminal = spawnOnTerminal(file, args, { ...options, encoding: null });
  // Without an encoding, the data are bytes, although the types say string.
  terminal.onData((data: string | Uint8Array) => {
    terminal.pause();
    void io.write('stdout', typeof data === 'string' ? Buffer.from(data) : data).then(() => terminal.resume());
  });
  io.resizes(({ height, width }) => terminal.resize(Math.max(1, width), Math.max(1, height)));
  io.signal.addEventListener('abort', () => kill({ pid: terminal.pid }, 'SIGKILL'));
  void (async () => {
    for await (const data of io.stdin) terminal.write(Buffer.from(data).toString());
  })();
  return new Promise((resolve) => terminal.onExit(({ exitCode, signal = 0 }) => resolve({ exitCode, signal })));
}

const PAGE_BYTES = 4_096;

const driver: DriverPlugin = {
  name: 'command',
  version: '0.1.0',
  taskSchema: {
    object: {
      attributes: {
        command: { Attr: { type: 'string', required: true } },
        args: {
          default: { primary: { Attr: { name: 'args', type: 'list(string)' } }, default: { literal: { value: '[]' } } },
        },
      },
    },
  },
  async start({ id, config, directory, all }: DriverTask) {
    const exitFile = `${directory}/exit-${id.split('/').at(-1)}`;
    const command = ['-c', SCRIPT, exitFile, String(config['command']), ...(config['args'] as string[])];
    const stdio = ['ignore', openSync(all.stdout_path, 'w'), openSync(all.stderr_path, 'w')] as const;
    const child = spawn('sh', command, { cwd: directory, env: all.env, stdio: [...stdio], detached: true });
    for (const fd of stdio.slice(1)) closeSync(fd as number);
    if (child.pid === undefined) throw new Error('the shell could not be started');
    const state: Running = { pid: child.pid, exitFile };
    tasks.set(id, { ...state, directory, env: all.env });
    return { state };
  },
  async recover({ id, directory, all }, state) {
    tasks.set(id, { ...(state as Running), directory, env: all.env });
  },
  async wait(id) {
    const task = find(id);
    for (;;) {
      const alive = isAlive(task);
      const exitCode = await exitCodeOf(task);
      if (exitCode !== undefined) return { exitCode };
      if (!alive) return { exitCode: 137, signal: 9 };
      await pause(50);
    }
  },
  async stop(id, timeoutMs, signal) {
    const task = find(id);
    kill(task, signal || 'SIGTERM');
    await Promise.race([this.wait(id), pause(timeoutMs)]);
    kill(task, 'SIGKILL');
    await this.wait(id);
  },
  async destroy(id, force) {
    const task = find(id);
    if (!force && isAlive(task)) throw new Error('cannot destroy running task');
    kill(task, 'SIGKILL');
    await rm(task.exitFile, { force: true });
    tasks.delete(id);
  },
  async exec(id, [file = '', ...args], tty, io) {
    const { directory: cwd, env } = find(id);
    if (tty) return execOnTerminal(file, args, { cwd, env }, io);
    const child = spawn(file, args, { cwd, env, detached: true });
    io.signal.addEventListener('abort', () => child.pid !== undefined && kill({ pid: child.pid }, 'SIGKILL'));
    const ended = once(child, 'close');
    void (async () => {
      for await (const data of io.stdin) child.stdin.write(data);
      child.stdin.end();
    })();
    const copied = (['stdout', 'stderr'] as const).map(async (stream) => {
      for await (const data of child[stream]) await io.write(stream, data as Uint8Array);
    });
    const [code] = (await ended) as [number | null];
    await Promise.all(copied);
    return { exitCode: code ?? 137 };
  },
  async signal(id, signal) {
    if (!Object.hasOwn(constants.signals, signal)) throw new Error(`unknown signal ${signal}`);
    kill(find(id), signal);
  },
  async usage(id) {
    const { pid } = find(id);
    const pages = Number((await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')).split(' ')[1] ?? 0);
    return { memoryBytes: pages * PAGE_BYTES };
  },
};

await serveDriver(driver);
