import type { TaskConfig, TaskHandle } from '../drivers/driver.js';
import { type ExecCommand, type ExecSession, NoExecError } from './exec/exec-session.js';
import type { TaskContext } from './task-context.js';

/** The commands that run beside one task; they end with it. Memory: what runs. */
export class TaskExec {
  private readonly sessions = new Set<ExecSession>();

  constructor(private readonly context: TaskContext) {}

  /** @param config as the task was started; null: by an earlier agent @throws NoExecError, what the driver says */
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
