import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { OutputQueue } from '../../tasks/exec/output-queue.js';
import { killTree } from '../../tasks/exec/kill-tree.transport.js';
import { roomIn } from '../../tasks/exec/room.js';
import { FrameReader } from './frames.js';

/** The time in milliseconds within which the engine must report the exit code of a command whose output has ended. */
const EXIT_CODE_TIMEOUT_MS = 5_000;
const LOOK_MS = 20;

/**
 * Runs a command in a container through the engine, with the container's user and directory.
 * @throws Error if the command cannot be started
 */
export async function execInContainer(
  container: Docker.Container,
  { command, tty }: ExecCommand,
  env: Readonly<Record<string, string>>,
): Promise<ExecSession> {
  const exec = await container.exec({
    Cmd: [...command],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: tty,
  });
  const stream = await exec.start({ hijack: true, stdin: true, Tty: tty });
  const queue = new OutputQueue();
  const exitCode = copyOutput(stream, tty, queue)
    .catch(() => undefined) // the connection was cut; earlier output is in the queue
    .then(() => endOf(exec))
    .finally(() => queue.end());
  exitCode.catch(() => {}); // callers that await the promise get the error
  return {
    read: () => queue.takeOutput(),
    write: async (data) => {
      if (stream.writable && !stream.write(data)) await roomIn(stream);
    },
    closeInput: () => void stream.end(),
    resize: ({ height, width }) => void exec.resize({ h: height, w: width }).catch(() => {}),
    exitCode,
    kill: async () => {
      await killOnMachine(exec, container.id);
      queue.end();
      stream.destroy();
      await exitCode.catch(() => {});
    },
  };
}

async function copyOutput(stream: Duplex, tty: boolean, queue: OutputQueue): Promise<void> {
  const reader = new FrameReader();
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (tty) await queue.push({ stream: 'stdout', data: chunk });
    else for (const frame of reader.push(chunk)) await queue.push(frame);
  }
}

async function endOf(exec: Docker.Exec): Promise<number> {
  for (const deadline = performance.now() + EXIT_CODE_TIMEOUT_MS; ;) {
    const { Running, ExitCode } = await exec.inspect();
    if (!Running && ExitCode !== null) return ExitCode;
    if (performance.now() >= deadline) throw new Error('the engine does not say how the command ended');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/**
 * An engine does not end a command that it runs in a container. The agent ends it if its processes belong to this
 * machine.
 */
async function killOnMachine(exec: Docker.Exec, containerId: string): Promise<void> {
  const { Running, Pid } = await exec.inspect().catch(() => ({ Running: false, Pid: 0 }));
  if (!Running || Pid <= 0) return;
  // The process id of an engine on another machine would name an unrelated process here.
  const cgroups = await readFile(`/proc/${Pid}/cgroup`, 'utf8').catch(() => '');
  if (cgroups.includes(containerId)) await killTree(Pid);
}
