import type { TaskConfig, TaskHandle } from '../drivers/driver.js';
import { type ExecCommand, type ExecSession, NoExecError } from './exec/exec-session.js';
import type { TaskContext } from './task-context.js';

/**
 * TaskExec holds the commands that run beside one task. They end with the task. Memory: one entry per running command.
 */
export class TaskExec {
  private readonly sessions = new Set<ExecSession>();

  constructor(private readonly context: TaskContext) {}

  /**
   * Runs a command.
   * @param config the configuration of the task's start; null if an earlier agent started it
   * @throws NoExecError, the driver's error
   */
  async runCommand(command: ExecCommand, { taskId }: TaskHandle, config: TaskConfig | null): Promise<ExecSession> {
    const { driver } = this.context;
    if (!driver.exec) throw new NoExecError(driver.name);
    const session = await driver.exec(taskId, config ?? (await this.context.configure(taskId)), command);
    this.sessions.add(session);
    void session.exitCode.catch(() => {}).finally(() => this.sessions.delete(session));
    return session;
  }

  end(): void {
    for (const session of this.sessions) void session.kill();
  }
}
