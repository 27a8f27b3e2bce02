import { type ChangeScript, msFromNs, type Timers, errorText } from '@waybill/model';
import type { ExecCommand, ExecSession } from '../exec/exec-session.js';
import { TaskNotRunningError } from '../task-not-running.js';

/** A script of a changed template failed, and its template says that the task must not go on then. */
export class ChangeScriptError extends Error {
  override readonly name = 'ChangeScriptError';
}

/** The task that a script runs in. */
export interface ScriptedTask {
  /** @throws TaskNotRunningError, NoExecError, what the driver says */
  exec(command: ExecCommand): Promise<ExecSession>;
  emit(type: string, details: Record<string, string>): void;
}

/**
 * Runs what a changed template names in its task, for at most its timeout (AG-292). One that fails is an event of the
 * task; nothing is done to a task that does not run.
 * @throws ChangeScriptError when it fails and may not
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
      while ((await session.read()) !== null); // what it says is of no use to anybody
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
