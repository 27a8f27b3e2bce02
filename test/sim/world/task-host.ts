import { type Driver, type ExitResult, type TaskConfig, type TaskHandle, TaskNotFoundError } from '@waybill/agent';
import type { SimulatedProcess } from '../kernel/simulated-process.js';

/** A task that is told to stop takes up to this, milliseconds. */
const SLOWEST_STOP_MS = 3_000;
const SLOWEST_START_MS = 800;

/** The driver that the jobs of the workload name. */
export const DRIVER = 'mock_driver';

/** What a task of the workload does by itself. */
export interface TaskScript {
  /** 0: until it is stopped. */
  readonly runForMs: number;
  readonly exitCode: number;
  /** It ends because its work is done; otherwise its end is a failure, and there is none once the cluster is repaired. */
  readonly isFinite: boolean;
}

interface RunningTask {
  readonly allocId: string;
  readonly exit: Promise<ExitResult>;
  readonly end: (result: ExitResult) => void;
  ended: boolean;
}

/**
 * The tasks of one machine. They live as long as it is switched on: an agent that dies leaves them running, and its
 * successor finds them again.
 */
export class TaskHost {
  private readonly tasks = new Map<string, RunningTask>();

  /**
   * @param machine what dies when the power fails
   * @param tasksFail whether tasks whose work is never done end by themselves
   * @param onStart called with the allocation whose task begins
   */
  constructor(
    private readonly machine: SimulatedProcess,
    private readonly tasksFail: () => boolean,
    private readonly onStart: (allocId: string) => void,
  ) {}

  /** Ids of tasks that run. */
  get running(): string[] {
    return [...this.tasks].filter(([, task]) => !task.ended).map(([id]) => id);
  }

  /** Whether a task of this allocation runs. */
  runs(allocId: string): boolean {
    for (const task of this.tasks.values()) if (!task.ended && task.allocId === allocId) return true;
    return false;
  }

  /** A task ends by itself, not as it was written. */
  crash(taskId: string): void {
    this.tasks.get(taskId)?.end(exitWith(137));
  }

  /** The driver as one start of the agent uses it: an agent that is dead hears nothing any more. */
  driverFor(agent: SimulatedProcess): Driver {
    const heard = <T>(what: Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        what.then(
          (value) => agent.execute(() => resolve(value)),
          (error: unknown) => agent.execute(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    return {
      name: DRIVER,
      mounts: 'link',
      fingerprint: async () => ({ health: 'healthy', description: 'Healthy', attributes: {} }),
      validate: () => {},
      prepare: (config) => ({
        driver: DRIVER,
        taskId: config.taskId,
        startedAtMs: agent.nowMs(),
        state: {},
      }),
      start: (config, handle) => heard(this.start(config, handle)),
      recover: async ({ taskId }) => this.tasks.has(taskId),
      wait: (taskId) => heard(this.exitOf(taskId)),
      stop: (taskId) => heard(this.stop(taskId)),
      signal: async (taskId, signal) => {
        const task = this.tasks.get(taskId);
        if (!task) throw new TaskNotFoundError(taskId);
        if (signal === 'SIGKILL') task.end(exitWith(137));
      },
      stats: async (taskId) => {
        throw new TaskNotFoundError(taskId);
      },
      destroy: async ({ taskId }, force) => this.destroy(taskId, force),
    };
  }

  private async start(config: TaskConfig, { taskId }: TaskHandle): Promise<void> {
    await this.pause(SLOWEST_START_MS);
    const { runForMs, exitCode, isFinite } = config.config as unknown as TaskScript;
    let resolve: (result: ExitResult) => void = () => {};
    const exit = new Promise<ExitResult>((done) => (resolve = done));
    const task: RunningTask = {
      allocId: config.allocId,
      exit,
      ended: false,
      end: (result) => {
        if (task.ended) return;
        task.ended = true;
        resolve(result);
      },
    };
    this.tasks.set(taskId, task);
    this.onStart(config.allocId);
    if (runForMs > 0)
      this.machine.after(runForMs, () => (isFinite || this.tasksFail()) && task.end(exitWith(exitCode)));
  }

  private exitOf(taskId: string): Promise<ExitResult> {
    const task = this.tasks.get(taskId);
    return task ? task.exit : Promise.reject(new TaskNotFoundError(taskId));
  }

  private async stop(taskId: string): Promise<void> {
    const task = this.tasks.get(taskId);
    if (!task) throw new TaskNotFoundError(taskId);
    await this.pause(SLOWEST_STOP_MS);
    task.end(exitWith(0));
  }

  private destroy(taskId: string, force: boolean): void {
    const task = this.tasks.get(taskId);
    if (!task) return;
    if (!task.ended && !force) throw new Error('cannot destroy a running task');
    task.end(exitWith(137));
    this.tasks.delete(taskId);
  }

  private pause(upToMs: number): Promise<void> {
    const { machine } = this;
    return new Promise((resolve) => void machine.after(machine.random.between(0, upToMs), resolve));
  }
}

const exitWith = (ExitCode: number): ExitResult => ({ ExitCode, Signal: 0, OOMKilled: false, Err: '' });
