import { type ChangeScript, msFromNs, type Timers, errorText } from '@waybill/model';
import type { ExecCommand, ExecSession } from '../exec/exec-session.js';
import { TaskNotRunningError } from '../task-not-running.js';

/** ChangeScriptError says that the script of a changed template failed and the template has `FailOnError`. */
export class ChangeScriptError extends Error {
  override readonly name = 'ChangeScriptError';
}

/** ScriptedTask is the task that a script runs in. */
export interface ScriptedTask {
  /** Runs a command in the task. @throws TaskNotRunningError, NoExecError, the driver's error */
  exec(command: ExecCommand): Promise<ExecSession>;
  emit(type: string, details: Record<string, string>): void;
}

/**
 * Runs the script of a changed template in its task, for at most its timeout (AG-292). A failure becomes an event of
 * the task. It does nothing if the task does not run.
 * @throws ChangeScriptError if it fails and `FailOnError` is set
 */
export async function runScript(task: ScriptedTask, script: ChangeScript, timers: Timers): Promise<void> {
  const failure = await failureOf(task, script, timers);
  if (failure === null) return;
  const args = (script.Args ?? []).join(', ');
  const message = `Template failed to run script ${script.Command} with arguments [${args}] on change: ${failure}`;
  if (script.FailOnError) throw new ChangeScriptError(message);
  task.emit('Template', { message });
}

async function failureOf(task: ScriptedTask, script: ChangeScript, timers: Timers): Promise<string | null> {
  let isLate = false;
  try {
    const session = await task.exec({ command: [script.Command, ...(script.Args ?? [])], tty: false });
    session.closeInput();
    const cancel = timers.after(msFromNs(script.Timeout), () => {
      isLate = true;
      void session.kill();
    });
    try {
      while ((await session.read()) !== null); // discards the output
      const code = await session.exitCode;
      if (isLate) return 'timed out';
      return code === 0 ? null : `Exit code: ${code}`;
    } finally {
      cancel();
    }
  } catch (error) {
    if (error instanceof TaskNotRunningError) return null;
    return errorText(error);
  }
}
