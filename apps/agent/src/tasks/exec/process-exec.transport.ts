import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import type { ExecSession } from './exec-session.js';
import { killTree } from './kill-tree.transport.js';
import { OutputQueue } from './output-queue.js';
import { roomIn } from './room.js';
import { type ProcessToExec, refuseUnstartable } from './startable.store.js';
import { execInTerminal } from './terminal-exec.transport.js';

/**
 * Runs a process of the machine in its own session, so that it can be killed with all processes that it started.
 * @throws an error if it cannot be started
 */
export async function execProcess(wanted: ProcessToExec): Promise<ExecSession> {
  refuseUnstartable(wanted);
  return wanted.tty ? execInTerminal(wanted) : execWithPipes(wanted);
}

async function execWithPipes({ file, args, cwd, env, user }: ProcessToExec): Promise<ExecSession> {
  const child = spawn(file, args, { cwd, env, detached: true, stdio: 'pipe', ...user });
  const exitCode = endOf(child);
  exitCode.catch(() => {}); // the next line reports a failed start
  await once(child, 'spawn');
  const queue = new OutputQueue();
  void Promise.all([copyOutput(child.stdout, 'stdout', queue), copyOutput(child.stderr, 'stderr', queue)]).then(() =>
    queue.end(),
  );
  child.stdin.on('error', () => {}); // the process has closed its input
  return {
    read: () => queue.takeOutput(),
    write: async (data) => {
      if (child.stdin.writable && !child.stdin.write(data)) await roomIn(child.stdin); // closed when the process has ended
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

async function copyOutput(from: Readable, stream: 'stdout' | 'stderr', queue: OutputQueue): Promise<void> {
  try {
    for await (const data of from as AsyncIterable<Buffer>) await queue.push({ stream, data });
  } catch {
    // The process was killed. Earlier output is in the queue.
  }
}
