import { type Clock, errorText, type Timers } from '@waybill/model';
import {
  type CapabilitiesMessage,
  type ConfigSchema,
  DriverClient,
  handleMessage,
  handleText,
  type NetworkOverrideMessage,
  PluginError,
  type PluginProcess,
  PluginShutDownError,
  type StartedTask,
  status,
  type TaskConfigMessage,
  type TaskHandleMessage,
} from '@waybill/plugins';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { type PluginInstance, PluginUnavailableError } from '../../plugins/plugin-instance.js';
import { type ExecCommand, type ExecSession, NoExecError } from '../../tasks/exec/exec-session.js';
import { logSpec, type OpenOutput, type TaskOutputs } from '../../tasks/logs/task-output.js';
import type { RotatingLogSpec } from '../../tasks/logs/rotating-log.js';
import { Gate, pause } from '../../waiting/gate.js';
import {
  type Driver,
  type DriverFingerprint,
  type DriverNetwork,
  type ExitResult,
  type FileIsolation,
  type MountSupport,
  type NetworkIsolation,
  NO_SIGNALS,
  StartCancelledError,
  StartError,
  type TaskConfig,
  type TaskEvent,
  type TaskHandle,
  TaskNotFoundError,
} from '../driver.js';
import { resourceUsage } from '../process-usage.js';
import { DriverEventWatch } from './driver-event-watch.js';
import { DriverHealthWatch } from './driver-health.js';
import { execInPlugin } from './plugin-exec.js';
import { PluginStarts } from './plugin-starts.js';
import { taskMessage, type TaskPipes } from './task-message.js';
import { TaskConfigSchema } from './task-config-schema.js';
import { TaskStatsWatch } from './task-stats-watch.js';

/** The wait after a broken connection of a plugin that has not ended. */
const RECONNECT_MS = 1_000;
/** Longest time for which a plugin that cannot be started delays the start of the agent. */
const CAPABILITIES_TIMEOUT_MS = 10_000;

export interface ExternalDriverDependencies {
  readonly name: string;
  readonly plugin: PluginInstance;
  readonly outputs: Pick<TaskOutputs, 'open' | 'reopen' | 'awaitDrained'>;
  /** The MHz of the whole machine. */
  readonly totalMhz: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

interface ExternalTask {
  readonly handle: TaskHandle;
  readonly message: TaskHandleMessage;
  readonly network: DriverNetwork | null;
  readonly stats: TaskStatsWatch;
  /** The process of the plugin that knows the task. */
  process: PluginProcess;
  /** The recovery of the task on a new process, while it runs. */
  recovering: Promise<void> | undefined;
  exit: Promise<ExitResult>;
  ended: boolean;
}

/** What a handle of this driver holds as JSON. */
interface HandleState {
  /** The name of the start's pipes. */
  readonly run: string;
  /** The files of the output; null if they are disabled. */
  readonly files: { readonly stdout: RotatingLogSpec; readonly stderr: RotatingLogSpec } | null;
  /** The plugin's own handle; absent before the plugin has started the task. */
  readonly message?: string;
}

/**
 * ExternalDriver makes a driver plugin one of the agent's drivers.
 *
 * Its tasks outlive the plugin's process. When that ends, the first call that needs it starts another (PluginInstance),
 * and each task is recovered there by its handle before anything else is asked about it (PG-76): the runner of the task
 * notices nothing. A task that cannot be recovered has ended with the error. When the agent ends, waits stay open: the
 * tasks go on (AG-192). Cost: one open call per task, and one for the health.
 */
export class ExternalDriver implements Driver {
  readonly name: string;
  private readonly tasks = new Map<string, ExternalTask>();
  private readonly health: DriverHealthWatch;
  private capabilities: CapabilitiesMessage | undefined;
  private readonly schema: TaskConfigSchema;
  private readonly stopping = new AbortController();
  private readonly stopped = new Gate();
  private readonly events: DriverEventWatch;
  private readonly starts: PluginStarts;

  constructor(private readonly deps: ExternalDriverDependencies) {
    this.name = deps.name;
    this.health = new DriverHealthWatch(deps.name, deps.plugin, deps.clock, deps.timers);
    const destroy = (taskId: string): Promise<boolean> => this.destroyInPlugin(taskId, true);
    this.starts = new PluginStarts({ driver: deps.name, destroy, timers: deps.timers, logger: deps.logger });
    this.events = new DriverEventWatch(deps.plugin, deps.clock, deps.timers);
    this.schema = new TaskConfigSchema({
      driver: deps.name,
      ask: () => this.askedSchema(),
      changed: () => this.health.notify(),
      logger: deps.logger,
    });
  }

  get mounts(): MountSupport {
    return this.capabilities?.mount_configs === 'NO_MOUNTS' ? 'none' : 'bind';
  }

  get isolation(): FileIsolation {
    const isolation = this.capabilities?.fs_isolation;
    if (isolation === 'IMAGE') return 'image';
    return isolation === 'CHROOT' ? 'chroot' : 'none';
  }

  get networkIsolation(): readonly NetworkIsolation[] {
    const modes = this.capabilities?.network_isolation_modes ?? [];
    const known = (['host', 'group', 'task'] as const).filter((mode) => modes.includes(mode.toUpperCase()));
    return known.length > 0 ? known : ['host'];
  }

  get sendsSignals(): boolean {
    return this.capabilities?.send_signals ?? true;
  }

  /**
   * Begins to watch the plugin's health and events, and waits for a while until it says what it can do. Never rejects.
   */
  async open(): Promise<void> {
    void this.health.watch();
    void this.events.watch();
    const answered = new Gate();
    void this.schema
      .refresh()
      .catch((error: unknown) => {
        this.deps.logger.warn('a driver plugin does not say what it can do', { plugin: this.name, error });
      })
      .finally(() => answered.open());
    await pause(this.deps.timers, CAPABILITIES_TIMEOUT_MS, answered);
  }

  /** Ends the plugin in order. Tasks go on if the plugin lets them. */
  async close(): Promise<void> {
    this.health.stop();
    this.events.stop();
    this.stopping.abort();
    this.stopped.open();
    for (const { stats } of this.tasks.values()) stats.stop();
    await this.starts.close();
    await this.deps.plugin.close();
  }

  /** Handles the end of the plugin's process. */
  pluginEnded(how: string): void {
    this.health.setUnhealthy(how);
  }

  async fingerprint(): Promise<DriverFingerprint> {
    return { ...(await this.health.current()), taskConfigSchema: this.schema.reported };
  }

  onChange(listener: () => void): void {
    this.health.onChange(listener);
  }

  onTaskEvent(listener: (event: TaskEvent) => void): void {
    this.events.onEvent(listener);
  }

  async validate(config: TaskConfig): Promise<void> {
    await this.schema.encode(config);
  }

  prepare(config: TaskConfig): TaskHandle {
    const { taskId, paths, task, logs } = config;
    const files = logs.Disabled
      ? null
      : { stdout: logSpec(paths.logsDir, task, 'stdout', logs), stderr: logSpec(paths.logsDir, task, 'stderr', logs) };
    const state: HandleState = { run: taskId.replaceAll(/[^A-Za-z0-9._-]/g, '_'), files };
    return { driver: this.name, taskId, startedAtMs: this.deps.clock.nowMs(), state: { ...state } };
  }

  start(
    config: TaskConfig,
    handle: TaskHandle,
    _tell?: (message: string) => void,
    unwanted?: AbortSignal,
  ): Promise<TaskHandle> {
    return this.starts.run(() => this.startTask(config, handle, unwanted));
  }

  async recover(handle: TaskHandle): Promise<boolean> {
    if (this.tasks.has(handle.taskId)) return true;
    try {
      const state = stateOf(handle);
      if (state.message === undefined) return false; // the start was under way, so it is destroyed
      const message = handleMessage(state.message);
      const { process, network } = await this.recoverTask(message, handle.taskId);
      this.trackTask(handle, message, process, await this.openOutput(state, true), network);
      return true;
    } catch (error) {
      const { logger } = this.deps;
      logger.warn('a task cannot be recovered by its driver', { driver: this.name, task: handle.taskId, error });
      return false;
    }
  }

  async wait(taskId: string): Promise<ExitResult> {
    return this.task(taskId).exit;
  }

  async stop(taskId: string, timeoutMs: number, signal: string): Promise<void> {
    const task = this.task(taskId);
    await this.askPlugin(task, (client) => client.stopTask(taskId, timeoutMs, signal));
    await task.exit;
  }

  async signal(taskId: string, signal: string): Promise<void> {
    const task = this.task(taskId);
    if (!this.sendsSignals) throw new Error(NO_SIGNALS);
    await this.askPlugin(task, (client) => client.signalTask(taskId, signal));
  }

  async exec(taskId: string, _config: TaskConfig, command: ExecCommand): Promise<ExecSession> {
    const task = this.task(taskId);
    if (this.capabilities?.exec === false) throw new NoExecError(this.name);
    return this.askPlugin(task, (client) => execInPlugin(client, taskId, command));
  }

  network(taskId: string): DriverNetwork | null {
    return this.tasks.get(taskId)?.network ?? null;
  }

  async stats(taskId: string): Promise<TaskResourceUsage> {
    const usage = await this.task(taskId).stats.usage();
    return usage ?? { ResourceUsage: resourceUsage({}, {}), Timestamp: this.deps.clock.nowMs() * 1e6, Pids: null };
  }

  async destroy(handle: TaskHandle, force: boolean): Promise<void> {
    const { taskId } = handle;
    const task = this.tasks.get(taskId);
    if (task && !task.ended && !force) throw new Error('cannot destroy running task');
    // A process that was started since the task ended knows it only after its recovery. If that fails, nothing is left.
    if (task) await this.attachedClient(task).catch(() => undefined);
    if (this.starts.isSearching(taskId)) return; // it is destroyed there, and a plugin that hangs holds up no kill
    await this.destroyInPlugin(taskId, force);
    task?.stats.stop();
    this.tasks.delete(taskId);
  }

  /** Recovers a task, and again on a new process if the plugin ends meanwhile. @throws PluginError */
  private async recoverTask(
    message: TaskHandleMessage,
    taskId: string,
    isRepeated = false,
  ): Promise<{ process: PluginProcess; network: DriverNetwork | null }> {
    const process = await this.deps.plugin.runningProcess();
    const client = new DriverClient(process.connection);
    try {
      await client.recoverTask(message);
    } catch (error) {
      if (isRepeated || !(error instanceof PluginShutDownError)) throw error;
      return this.recoverTask(message, taskId, true);
    }
    const network = await client.inspectTask(taskId).then(
      ({ network_override: override }) => networkOf(override),
      () => null, // not every driver answers it
    );
    return { process, network };
  }

  /** @throws StartError, StartCancelledError */
  private async startTask(config: TaskConfig, handle: TaskHandle, unwanted?: AbortSignal): Promise<TaskHandle> {
    const ends = unwanted ? AbortSignal.any([unwanted, this.stopping.signal]) : this.stopping.signal;
    const state = stateOf(handle);
    const output = await this.openOutput(state);
    try {
      const encoded = await this.schema.encode(config);
      const message = taskMessage(config, { encoded, pipes: output.pipes, totalMhz: this.deps.totalMhz });
      const { started, process } = await this.startOnce(message, ends);
      if (started.result === 'RETRY' || started.result === 'FATAL')
        throw new StartError(started.driver_error_msg || 'the driver failed', started.result === 'RETRY');
      if (!started.handle) throw new StartError('the driver returned no handle');
      const found: TaskHandle = { ...handle, state: { ...state, message: handleText(started.handle) } };
      this.trackTask(found, started.handle, process, output, networkOf(started.network_override));
      return found;
    } catch (error) {
      output.release();
      if (ends.aborted) {
        if (error instanceof PluginError) await this.starts.removeCancelled(handle.taskId);
        throw new StartCancelledError();
      }
      if (error instanceof PluginError) throw new StartError(error.message, error.isRecoverable);
      if (error instanceof PluginUnavailableError) throw new StartError(error.message, true);
      throw error;
    }
  }

  /** Starts a task, and again on a new process if the plugin ends meanwhile (PG-77). @throws PluginError, StartError */
  private async startOnce(
    message: TaskConfigMessage,
    ends: AbortSignal,
  ): Promise<{ started: StartedTask; process: PluginProcess }> {
    for (let attempt = 1; ; attempt++) {
      const process = await this.deps.plugin.runningProcess();
      ends.throwIfAborted();
      try {
        return {
          started: await new DriverClient(process.connection).startTask(message, ends),
          process,
        };
      } catch (error) {
        if (!(error instanceof PluginShutDownError)) throw error;
        if (attempt > 1 || this.deps.plugin.isClosed)
          throw new StartError(`failed to start task after driver exited unexpectedly: ${error.message}`, true);
      }
    }
  }

  /** Destroys a task. Returns whether the plugin knew it. @throws PluginError, PluginShutDownError, PluginUnavailableError */
  private async destroyInPlugin(taskId: string, force: boolean): Promise<boolean> {
    const process = await this.deps.plugin.runningProcess();
    try {
      await new DriverClient(process.connection).destroyTask(taskId, force);
      return true;
    } catch (error) {
      if (error instanceof PluginError && error.isTaskNotFound) return false;
      throw error;
    }
  }

  /** Asks the plugin anew what it can do and what a task's configuration looks like (PG-51). */
  private async askedSchema(): Promise<ConfigSchema> {
    const process = await this.deps.plugin.runningProcess();
    const [schema] = await Promise.all([
      new DriverClient(process.connection).taskConfigSchema(),
      this.refreshCapabilities(),
    ]);
    return schema;
  }

  private async refreshCapabilities(): Promise<void> {
    const process = await this.deps.plugin.runningProcess();
    this.capabilities = await new DriverClient(process.connection).capabilities();
  }

  private trackTask(
    handle: TaskHandle,
    message: TaskHandleMessage,
    process: PluginProcess,
    output: TaskOutput,
    network: DriverNetwork | null,
  ): void {
    const { taskId } = handle;
    const stats = new TaskStatsWatch(taskId, () => this.attachedClient(this.task(taskId)), this.deps.timers);
    const open = new Promise<ExitResult>(() => {});
    const task: ExternalTask = {
      handle,
      message,
      network,
      stats,
      process,
      recovering: undefined,
      exit: open,
      ended: false,
    };
    this.tasks.set(taskId, task);
    task.exit = this.exitOf(task).then(async (result) => {
      task.ended = true;
      stats.stop();
      output.release();
      await output.drained();
      return result;
    });
  }

  /** Waits for the end of a task, on one process of the plugin after the other (PG-76). Never rejects. */
  private async exitOf(task: ExternalTask): Promise<ExitResult> {
    for (;;) {
      try {
        const client = await this.attachedClient(task);
        const { result, err } = await client.waitTask(task.handle.taskId);
        return {
          ExitCode: result?.exit_code ?? 0,
          Signal: result?.signal ?? 0,
          OOMKilled: result?.oom_killed ?? false,
          Err: err,
        };
      } catch (error) {
        if (this.deps.plugin.isClosed) return new Promise(() => {}); // the agent ends, and the task goes on
        if (error instanceof PluginShutDownError || error instanceof PluginUnavailableError) continue;
        if (error instanceof PluginError && error.code === status.UNAVAILABLE) {
          await pause(this.deps.timers, RECONNECT_MS, this.stopped);
          continue;
        }
        return { ExitCode: 0, Signal: 0, OOMKilled: false, Err: errorText(error) };
      }
    }
  }

  /**
   * Asks about a task, and once more on a new process if the plugin ends meanwhile (PG-77).
   * @throws TaskNotFoundError, PluginError
   */
  private async askPlugin<T>(task: ExternalTask, ask: (client: DriverClient) => Promise<T>): Promise<T> {
    try {
      try {
        return await ask(await this.attachedClient(task));
      } catch (error) {
        if (!(error instanceof PluginShutDownError)) throw error;
        return await ask(await this.attachedClient(task));
      }
    } catch (error) {
      if (error instanceof PluginError && error.isTaskNotFound) throw new TaskNotFoundError(task.handle.taskId);
      throw error;
    }
  }

  /** Returns a client for a process that knows the task, and recovers the task there first if needed. */
  private async attachedClient(task: ExternalTask): Promise<DriverClient> {
    const process = await this.deps.plugin.runningProcess();
    const client = new DriverClient(process.connection);
    if (task.process === process) return client;
    task.recovering ??= client
      .recoverTask(task.message)
      .then(() => {
        task.process = process;
      })
      .finally(() => {
        task.recovering = undefined;
      });
    await task.recovering;
    return client;
  }

  private async openOutput({ run, files }: HandleState, isRecovered = false): Promise<TaskOutput> {
    if (!files || this.capabilities?.disable_log_collection === true) return NO_OUTPUT;
    const { outputs } = this.deps;
    const open = await (isRecovered ? outputs.reopen : outputs.open).call(outputs, run, files.stdout, files.stderr);
    let isOpen = true;
    return {
      pipes: open.pipes,
      release: () => {
        if (isOpen) open.release();
        isOpen = false;
      },
      drained: () => outputs.awaitDrained(run),
    };
  }

  private task(taskId: string): ExternalTask {
    const task = this.tasks.get(taskId);
    if (!task) throw new TaskNotFoundError(taskId);
    return task;
  }
}

/** The output of a task, which the agent holds open until the task has ended: the plugin may open it again. */
interface TaskOutput extends Pick<OpenOutput, 'release'> {
  readonly pipes: TaskPipes;
  /** Resolves when all output is in its files. */
  drained(): Promise<void>;
}

const NO_OUTPUT: TaskOutput = {
  pipes: { stdout: '/dev/null', stderr: '/dev/null' },
  release: () => {},
  drained: async () => {},
};

/** @throws TypeError if another driver made the handle */
function stateOf({ taskId, state }: TaskHandle): HandleState {
  const { run, files = null, message } = state as Partial<HandleState>;
  if (typeof run !== 'string') throw new TypeError(`not a handle of an external driver: ${taskId}`);
  return { run, files, ...(typeof message === 'string' && { message }) };
}

const networkOf = (override: NetworkOverrideMessage | null): DriverNetwork | null =>
  override && { ip: override.addr, portMap: override.port_map, autoAdvertise: override.auto_advertise };
