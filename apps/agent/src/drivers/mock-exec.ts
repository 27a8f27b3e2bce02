import { msFromNs, parseDuration, type Timers } from '@waybill/model';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';
import { OutputQueue } from '../tasks/exec/output-queue.js';
import { Gate } from '../waiting/gate.js';
import type { TaskConfig } from './driver.js';

/**
 * Simulates the `exec_command` of a mock task (AG-264). The single command `showinput` shows its input. `signal_error`
 * and repeated output are not simulated.
 * @throws Error if the task has no exec_command
 */
export function mockExec({ config }: TaskConfig, { command, tty }: ExecCommand, timers: Timers): ExecSession {
  const configured = config['exec_command'];
  const block = (Array.isArray(configured) ? configured[0] : configured) as
    | Readonly<Record<string, unknown>>
    | undefined;
  if (!block) throw new Error('no exec command is configured');
  const text = (key: string): string => (typeof block[key] === 'string' ? block[key] : '');
  const queue = new OutputQueue();
  const inputEnded = new Gate();
  const killed = new Gate();
  let input = '';
  const writeOutput = (stream: 'stdout' | 'stderr', said: string): void => {
    if (said !== '') void queue.push({ stream, data: Buffer.from(said) });
  };

  const run = async (): Promise<number> => {
    if (command.length === 1 && command[0] === 'showinput') {
      await Promise.race([inputEnded.opened, killed.opened]);
      writeOutput('stdout', `TTY: ${tty}\nStdin:\n${input}\n`);
      return 0;
    }
    writeOutput('stdout', text('stdout_string'));
    writeOutput('stderr', text('stderr_string'));
    await Promise.race([killed.opened, pause(msFromNs(parseDuration(text('run_for')) ?? 0), timers)]);
    if (text('exit_err_msg') !== '') throw new Error(text('exit_err_msg'));
    return Number(block['exit_code'] ?? 0);
  };

  const exitCode = run().finally(() => queue.end());
  exitCode.catch(() => {}); // callers that await the promise get the error
  return {
    read: () => queue.takeOutput(),
    write: async (data) => void (input += Buffer.from(data).toString()),
    closeInput: () => inputEnded.open(),
    resize: () => {},
    exitCode,
    kill: async () => killed.open(),
  };
}

const pause = (ms: number, timers: Timers): Promise<void> =>
  ms <= 0 ? Promise.resolve() : new Promise((resolve) => void timers.after(ms, resolve));
