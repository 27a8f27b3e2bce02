import { type CancelTimer, type Clock, msFromNs, parseDuration, type Timers, errorText } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import { Gate, pause } from '../waiting/gate.js';
import type { RotatingLogSpec } from '../tasks/logs/rotating-log.js';
import {
  type Driver,
  type DriverFingerprint,
  type DriverNetwork,
  type ExitResult,
  StartError,
  type TaskConfig,
  type TaskHandle,
  TaskNotFoundError,
} from './driver.js';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';
import { mockExec } from './mock-exec.js';
import { mockConfigMembers } from './task-config.js';
import { resourceUsage } from './process-usage.js';

/** Upper limit of the simulated memory usage (AG-265). */
const MAX_MOCK_RSS_BYTES = 64 * 1024 * 1024;

/** OutputSink receives simulated output. */
export interface OutputSink {
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

export interface MockDriverOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly openOutput: (config: TaskConfig, type: 'stdout' | 'stderr') => OutputSink;
}

type Output = Pick<RotatingLogSpec, 'base'> & { text: string; repeat: number; everyMs: number };

interface MockConfig {
  runForMs: number;
  exitCode: number;
  exitSignal: number;
  exitErrMsg: string;
  signalError: string;
  stdout: Output;
  stderr: Output;
  startError: string;
  startErrorRecoverable: boolean;
  startBlockForMs: number;
  killAfterMs: number;
  pluginExitAfterMs: number;
  network: DriverNetwork | null;
}

interface MockTask {
  readonly config: MockConfig;
  readonly exit: Promise<ExitResult>;
  readonly stopped: Gate;
  ended: boolean;
}

/**
 * MockDriver runs nothing. It simulates what its configuration says, in the time of the given clock (agent.md,
 * mock_driver). States of a task: running → ended → destroyed. Its handle contains all that it needs after a restart of
 * the agent (AG-263). Cost: one or two timers per task.
 */
export class MockDriver implements Driver {
  readonly name = 'mock_driver';
  private readonly tasks = new Map<string, MockTask>();

  constructor(private readonly options: MockDriverOptions) {}

  async fingerprint(): Promise<DriverFingerprint> {
    return { health: 'healthy', description: 'Healthy', attributes: { 'driver.mock_driver': '1' } };
  }

  validate(config: TaskConfig): void {
    mockConfigMembers(config.config);
  }

  prepare(config: TaskConfig): TaskHandle {
    return {
      driver: this.name,
      taskId: config.taskId,
      startedAtMs: this.options.clock.nowMs(),
      state: { config: config.config },
    };
  }

  async start(config: TaskConfig, handle: TaskHandle): Promise<void> {
    const mock = mockConfig(config.config);
    if (mock.startBlockForMs > 0) await this.pause(mock.startBlockForMs);
    if (mock.startError !== '') throw new StartError(mock.startError, mock.startErrorRecoverable);
    this.runTask(handle, mock, mock.runForMs, config);
  }

  async recover(handle: TaskHandle): Promise<boolean> {
    if (this.tasks.has(handle.taskId)) return true;
    const config = mockConfig((handle.state['config'] ?? {}) as Record<string, unknown>);
    const ranMs = this.options.clock.nowMs() - handle.startedAtMs;
    this.runTask(handle, config, Math.max(0, config.runForMs - ranMs), undefined);
    return true;
  }

  async wait(taskId: string): Promise<ExitResult> {
    return this.task(taskId).exit;
  }

  async stop(taskId: string): Promise<void> {
    const task = this.task(taskId);
    const cancel = this.options.timers.after(task.config.killAfterMs, () => task.stopped.open());
    await task.exit;
    cancel();
  }

  async signal(taskId: string): Promise<void> {
    const { signalError } = this.task(taskId).config;
    if (signalError !== '') throw new Error(signalError);
  }

  network(taskId: string): DriverNetwork | null {
    return this.tasks.get(taskId)?.config.network ?? null;
  }

  /** Answers with the configured text or with the command itself, and runs nothing (AG-264). */
  async exec(taskId: string, config: TaskConfig, command: ExecCommand): Promise<ExecSession> {
    this.task(taskId);
    return mockExec(config, command, this.options.timers);
  }

  async stats(taskId: string): Promise<TaskResourceUsage> {
    this.task(taskId);
    const RSS = Math.floor(this.options.random() * MAX_MOCK_RSS_BYTES);
    return {
      ResourceUsage: resourceUsage({ RSS, Measured: ['RSS'] }, {}),
      Timestamp: this.options.clock.nowMs() * 1e6,
      Pids: null,
    };
  }

  async destroy(handle: TaskHandle, force: boolean): Promise<void> {
    const task = this.tasks.get(handle.taskId);
    if (!task) return;
    if (!task.ended && !force) throw new Error('cannot destroy running task');
    task.stopped.open();
    this.tasks.delete(handle.taskId);
  }

  private runTask(handle: TaskHandle, config: MockConfig, runForMs: number, output: TaskConfig | undefined): void {
    const stopped = new Gate();
    const task: MockTask = { config, exit: this.exitOf(config, runForMs, stopped, output), stopped, ended: false };
    this.tasks.set(handle.taskId, task);
    void task.exit.then(() => {
      task.ended = true;
    });
  }

  /**
   * Resolves after `run_for`, a stop, `plugin_exit_after` or an error of the output, with the configured exit code
   * (AG-261).
   */
  private async exitOf(
    config: MockConfig,
    runForMs: number,
    stopped: Gate,
    output: TaskConfig | undefined,
  ): Promise<ExitResult> {
    const outputs = output
      ? [this.emit(output, 'stdout', config.stdout, stopped), this.emit(output, 'stderr', config.stderr, stopped)]
      : [];
    let outputError: string | undefined;
    const outputFailed = Promise.all(outputs).then(
      () => new Promise<'output'>(() => {}),
      (error: unknown) => {
        outputError = errorText(error);
        return 'output' as const;
      },
    );
    const timers: CancelTimer[] = [];
    const later = <T>(ms: number, what: T) =>
      new Promise<T>((resolve) => void timers.push(this.options.timers.after(ms, () => resolve(what))));
    const how = await Promise.race([
      later(runForMs, 'run' as const),
      stopped.opened.then(() => 'stop' as const),
      outputFailed,
      ...(config.pluginExitAfterMs > 0 ? [later(config.pluginExitAfterMs, 'plugin' as const)] : []),
    ]);
    for (const cancel of timers) cancel();
    if (how === 'plugin') return exitResult(config, { ExitCode: 0, Signal: 0, Err: 'plugin shut down' });
    if (how === 'output') return exitResult(config, { ExitCode: 1, Signal: 0, Err: outputError ?? '' });
    await Promise.allSettled(outputs);
    return exitResult(config, {});
  }

  private async emit(config: TaskConfig, type: 'stdout' | 'stderr', output: Output, stopped: Gate): Promise<void> {
    if (output.text === '') return;
    const sink = this.options.openOutput(config, type);
    try {
      await sink.write(output.text);
      for (let i = 0; i < output.repeat && !stopped.isOpen; i++) {
        await pause(this.options.timers, output.everyMs, stopped);
        if (!stopped.isOpen) await sink.write(output.text);
      }
    } finally {
      await sink.close();
    }
  }

  private task(taskId: string): MockTask {
    const task = this.tasks.get(taskId);
    if (!task) throw new TaskNotFoundError(taskId);
    return task;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.options.timers.after(ms, resolve));
  }
}

function exitResult(config: MockConfig, over: Partial<ExitResult>): ExitResult {
  return { ExitCode: config.exitCode, Signal: config.exitSignal, OOMKilled: false, Err: config.exitErrMsg, ...over };
}

/** @throws StartError for a malformed duration or port map */
function mockConfig(config: Readonly<Record<string, unknown>>): MockConfig {
  const text = (key: string) => {
    const value = config[key];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const number = (key: string) => Number(config[key] ?? 0);
  const duration = (key: string) => {
    const ns = text(key) === '' ? 0 : parseDuration(text(key));
    if (ns === undefined)
      throw new StartError(`${key} ${text(key)} not a valid duration: time: invalid duration "${text(key)}"`);
    return msFromNs(ns);
  };
  const output = (type: 'stdout' | 'stderr'): Output => ({
    base: type,
    text: text(`${type}_string`),
    repeat: number(`${type}_repeat`),
    everyMs: duration(`${type}_repeat_duration`),
  });
  return {
    runForMs: duration('run_for'),
    exitCode: number('exit_code'),
    exitSignal: number('exit_signal'),
    exitErrMsg: text('exit_err_msg'),
    signalError: text('signal_error'),
    stdout: output('stdout'),
    stderr: output('stderr'),
    startError: text('start_error'),
    startErrorRecoverable: config['start_error_recoverable'] === true,
    startBlockForMs: duration('start_block_for'),
    killAfterMs: duration('kill_after'),
    pluginExitAfterMs: duration('plugin_exit_after'),
    network: mockNetwork(text('driver_ip'), text('driver_port_map'), config['driver_advertise'] === true),
  };
}

/** @throws StartError */
function mockNetwork(ip: string, map: string, autoAdvertise: boolean): DriverNetwork | null {
  const mapped = /^([^:]+):(\d+)$/.exec(map);
  if (map !== '' && !mapped) throw new StartError(`malformed port map: "${map}"`);
  if (ip === '') return null;
  return { ip, portMap: mapped ? { [mapped[1] ?? '']: Number(mapped[2]) } : {}, autoAdvertise };
}
