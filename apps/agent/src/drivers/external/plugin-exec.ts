import type { DriverClient, ExecAnswer } from '@waybill/plugins';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { OutputQueue } from '../../tasks/exec/output-queue.js';

/** The exit code of a command whose plugin did not report one. */
const UNKNOWN_EXIT = 137;

/**
 * Runs a command beside a task through its driver (PG-67). Unread output blocks the plugin. Killing the session cancels
 * the call, upon which the plugin kills the command.
 */
export async function execInPlugin(client: DriverClient, taskId: string, command: ExecCommand): Promise<ExecSession> {
  const leaving = new AbortController();
  const dialogue = client.execTask(leaving.signal);
  await dialogue.send({ setup: { task_id: taskId, command: command.command, tty: command.tty } });
  const queue = new OutputQueue();
  const exitCode = readAnswers(dialogue.answers, queue).catch((error: unknown) => {
    if (leaving.signal.aborted) return UNKNOWN_EXIT;
    throw error;
  });
  const ended = exitCode.then(
    () => leaving.abort(),
    () => leaving.abort(),
  );
  return {
    read: () => queue.takeOutput(),
    write: (data) => dialogue.send({ stdin: { data } }),
    closeInput: () => void dialogue.send({ stdin: { close: true } }),
    resize: (size) => void dialogue.send({ tty_size: size }),
    exitCode,
    kill: async () => {
      leaving.abort();
      queue.end();
      await ended;
    },
  };
}

/** Queues the output. @returns the exit code @throws PluginError, PluginShutDownError */
async function readAnswers(answers: AsyncIterable<ExecAnswer>, queue: OutputQueue): Promise<number> {
  try {
    for await (const { stdout, stderr, exited, result } of answers) {
      if (stdout && stdout.data.length > 0) await queue.push({ stream: 'stdout', data: stdout.data });
      if (stderr && stderr.data.length > 0) await queue.push({ stream: 'stderr', data: stderr.data });
      if (!exited) continue;
      const { exit_code: code = 0, signal = 0 } = result ?? {};
      return code === 0 && signal > 0 ? 128 + signal : code;
    }
    return UNKNOWN_EXIT;
  } finally {
    queue.end();
  }
}
