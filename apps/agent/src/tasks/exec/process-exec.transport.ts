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

/** Runs a process of the machine, in a session of its own so that it can be killed with all that it started. @throws why it cannot be started */
export async function execProcess(wanted: ProcessToExec): Promise<ExecSession> {
  refuseUnstartable(wanted);
  return wanted.tty ? execInTerminal(wanted) : execWithPipes(wanted);
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
    read: () => queue.takeOutput(),
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
