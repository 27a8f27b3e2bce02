import { errorText } from '@waybill/model';
import type { ChildProcess } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { bootId, isAlive, type ProcessIdentity, sendSignal } from '@waybill/processes';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { logSpec, type OpenOutput, type TaskOutputs } from '../../tasks/logs/task-output.js';
import {
  type Driver,
  type DriverFingerprint,
  type ExitResult,
  StartError,
  type TaskConfig,
  type TaskHandle,
  TaskNotFoundError,
} from '../driver.js';
import { ProcessTables, treeOf } from '../process-table.js';
import { ProcessUsage } from '../process-usage.js';
import { NoCgroupsError, type TaskCgroups } from '../task-cgroups.store.js';
import type { TaskLimits } from '../task-limits.store.js';
import { DEFAULT_KILL_SIGNAL, killSignal, signalOfCode, signalOrInterrupt } from '../task-signal.js';
import type { UserIds } from '../user-ids.js';
import { pause, pollUntilDefined, settlesWithin } from '../waiting.js';
import { blockedWay } from './blocked-way.store.js';
import { killWithGroup } from './left-running.js';
import {
  claimUnbegun,
  exitCodeOf,
  hasStarted,
  newRun,
  processOf,
  removeRun,
  type RunSpec,
  supervise,
  troubleOf,
} from './supervisor.js';
import { below, pathName, type PathName } from '../../paths/path-name.js';

/** The interval in milliseconds between two checks of a task whose supervisor is not a child of this process. */
export const WATCH_MS = 500;
/** Longest time that a killed process may take to end (AG-275). */
export const VANISH_TIMEOUT_MS = 15_000;
/**
 * The longest wait for the exit code in milliseconds. A supervisor writes it directly after its task's end, so a code
 * that is not there by then never comes.
 */
const EXIT_RECORD_TIMEOUT_MS = 2_000;

export interface SupervisionOptions {
  /** The directory of run directories. */
  readonly runsDir: string;
  readonly outputs: TaskOutputs;
  /** The MHz that a fully used core counts as in the usage of tasks. */
  readonly mhzPerCore: number;
  /**
   * The cgroups of tasks, or the reason why there are none. Without cgroups only the process group of a task is killed
   * with it.
   */
  readonly cgroups: TaskCgroups | NoCgroupsError;
  /** The limits of tasks. Without them, tasks may use the whole machine. */
  readonly limits?: TaskLimits;
}

/** CgroupOverride describes cgroups that the job chose for a task. */
export interface CgroupOverride {
  /** Whether the task can be in none of the agent's own cgroups. */
  readonly insteadOfOwn: boolean;
  /** Moves the process into the chosen cgroups. @throws Error if it cannot */
  place(pid: number): Promise<void>;
}

/** Launch describes the process that a supervisor starts. */
export interface Launch {
  /**
   * Returns the command line, see RunSpec.
   * @param placed whether the agent puts the process into a cgroup before it becomes the task
   */
  commandLine(placed: boolean): [string, ...string[]];
  readonly cwd: string;
  /** The environment of the supervisor, and of all programs before the task. */
  readonly env: Readonly<Record<string, string>>;
  /** The user of the supervisor; absent means the agent's user. */
  readonly user?: UserIds | undefined;
  readonly cgroups?: CgroupOverride | undefined;
}

interface Running {
  readonly handle: TaskHandle;
  readonly process: ProcessIdentity;
  readonly exit: Promise<ExitResult>;
  readonly usage: ProcessUsage;
  ended: boolean;
}

/**
 * SupervisedDriver runs tasks as processes of this machine. Each has a supervisor that outlives the agent.
 *
 * States of a task: starting → running → ended → destroyed. Each start has a run directory, in which its supervisor
 * (see supervisor.ts) writes its identity and its exit. A later agent needs only this directory to continue. A
 * supervisor that is a child of this process reports its end by exiting. The driver checks a supervisor of an earlier
 * agent every WATCH_MS. It compares the start time of a process before each signal, so a reused pid is never hit.
 * Drivers differ in how the process becomes the task (`launch`). Limits: VANISH_TIMEOUT_MS, DRAIN_TIMEOUT_MS. Cost: one
 * sleeping shell per task.
 */
export abstract class SupervisedDriver implements Driver {
  abstract readonly name: string;
  private readonly tasks = new Map<string, Running>();
  private readonly processes = new ProcessTables();

  constructor(protected readonly supervision: SupervisionOptions) {}

  abstract fingerprint(): Promise<DriverFingerprint>;
  abstract validate(config: TaskConfig): void;
  abstract exec(taskId: string, config: TaskConfig, command: ExecCommand): Promise<ExecSession>;
  /** Prepares the launch of a task. @throws StartError */
  protected abstract launch(config: TaskConfig, handle: TaskHandle): Promise<Launch>;

  prepare(config: TaskConfig): TaskHandle {
    const state = { run: newRun(config.allocId) };
    return { driver: this.name, taskId: config.taskId, startedAtMs: Date.now(), state };
  }

  async start(config: TaskConfig, handle: TaskHandle): Promise<void> {
    const { user, ...launch } = await this.launch(config, handle);
    const run = runId(handle);
    const runDir = this.runDir(handle);
    if (user) {
      mkdirSync(runDir, { recursive: true });
      chownSync(runDir, user.uid, user.gid);
    }
    const output = await this.openOutput(run, config);
    let supervisor: ChildProcess;
    try {
      const cgroup = this.cgroupOf(run, config, launch.cgroups);
      supervisor = await supervise({
        runDir,
        commandLine: launch.commandLine(cgroup !== undefined),
        cwd: launch.cwd,
        env: launch.env,
        stdout: output.stdout,
        stderr: output.stderr,
        ...user,
        ...(config.network && { networkNamespace: config.network.namespace }),
        ...(cgroup && { cgroup }),
      });
    } catch (error) {
      await this.removeUnstarted(run);
      throw new StartError(errorText(error));
    } finally {
      output.release();
    }
    const identity = await processOf(runDir);
    if (!identity) {
      await this.removeUnstarted(run);
      const trouble = (await troubleOf(runDir)) ?? (user && (await blockedWay(launch.cwd, user)));
      throw new StartError(trouble ?? 'the supervisor of the task ended before it started the command');
    }
    this.trackProcess(handle, identity, endOf(supervisor));
  }

  async recover(handle: TaskHandle): Promise<boolean> {
    if (this.tasks.has(handle.taskId)) return true;
    const runDir = this.runDir(handle);
    if (await claimUnbegun(runDir)) return false;
    const identity = await pollUntilDefined(() => processOf(runDir), EXIT_RECORD_TIMEOUT_MS);
    if (!identity) return false;
    const isDecided = async (): Promise<true | undefined> =>
      !isAlive(identity) || (await hasStarted(runDir)) ? true : undefined;
    await pollUntilDefined(isDecided, EXIT_RECORD_TIMEOUT_MS);
    if (!(await hasStarted(runDir))) return false; // the agent ended while it started the task, so its command never ran
    if (identity.bootId !== bootId() || !isAlive(identity)) {
      // The task ended while no agent ran. Its supervisor kept the exit code (AG-443), or the code is lost.
      if ((await pollUntilDefined(() => exitCodeOf(runDir), EXIT_RECORD_TIMEOUT_MS)) === undefined) return false;
    }
    this.trackProcess(handle, identity, undefined);
    return true;
  }

  async wait(taskId: string): Promise<ExitResult> {
    return this.running(taskId).exit;
  }

  async stop(taskId: string, timeoutMs: number, signal: string): Promise<void> {
    const task = this.running(taskId);
    if (task.ended) return;
    const known = killSignal(signal === '' ? DEFAULT_KILL_SIGNAL : signal);
    if (timeoutMs > 0) {
      if (isAlive(task.process)) sendSignal(task.process.pid, known);
      if (await settlesWithin(task.exit, timeoutMs)) return;
    }
    killWithGroup(task.process);
    await this.cgroups?.kill(runId(task.handle));
    if (!(await settlesWithin(task.exit, VANISH_TIMEOUT_MS)))
      throw new Error(`process did not exit after ${VANISH_TIMEOUT_MS / 1000} seconds`);
  }

  async signal(taskId: string, signal: string): Promise<void> {
    const task = this.running(taskId);
    if (!task.ended && isAlive(task.process)) sendSignal(task.process.pid, signalOrInterrupt(signal));
  }

  /** Measures the usage of a task on demand (AG-278). */
  async stats(taskId: string): Promise<TaskResourceUsage> {
    const { process, usage } = this.running(taskId);
    const recent = usage.recentSample(Date.now());
    if (recent) return recent;
    const table = await this.processes.now();
    const members = isAlive(process) ? treeOf(table, process.pid) : [];
    const measured = await Promise.all(
      members.map(async (row) => ({ ...row, ...(await this.processes.memoryOf(row.pid)) })),
    );
    return usage.addSample(table.takenAtMs, measured);
  }

  async destroy(handle: TaskHandle, force: boolean): Promise<void> {
    const task = this.tasks.get(handle.taskId);
    if (task && !task.ended) {
      if (!force) throw new Error('cannot destroy running task');
      await this.stop(handle.taskId, 0, DEFAULT_KILL_SIGNAL);
    } else if (!task && !(await claimUnbegun(this.runDir(handle)))) {
      const identity = await processOf(this.runDir(handle));
      if (identity) killWithGroup(identity);
      await this.cgroups?.kill(runId(handle));
    }
    await this.supervision.limits?.remove(runId(handle));
    this.tasks.delete(handle.taskId);
    await removeRun(this.runDir(handle));
  }

  /** Returns the process of a task. @throws TaskNotFoundError */
  protected processOf(taskId: string): ProcessIdentity {
    return this.running(taskId).process;
  }

  private openOutput(run: string, { logs, paths, task }: TaskConfig): Promise<OpenOutput> | OpenOutput {
    if (logs.Disabled) return discardedOutput();
    const spec = (type: 'stdout' | 'stderr') => logSpec(paths.logsDir, task, type, logs);
    return this.supervision.outputs.open(run, spec('stdout'), spec('stderr'));
  }

  private trackProcess(
    handle: TaskHandle,
    identity: ProcessIdentity,
    supervisorEnded: Promise<void> | undefined,
  ): void {
    const exit = this.exitOf(handle, identity, supervisorEnded);
    const usage = new ProcessUsage(handle.startedAtMs, this.supervision.mhzPerCore);
    const task: Running = { handle, process: identity, exit, usage, ended: false };
    this.tasks.set(handle.taskId, task);
    const markEnded = (): void => void (task.ended = true);
    exit.then(markEnded, markEnded); // callers of `wait` get the error
  }

  private async exitOf(
    handle: TaskHandle,
    identity: ProcessIdentity,
    supervisorEnded: Promise<void> | undefined,
  ): Promise<ExitResult> {
    const runDir = this.runDir(handle);
    await supervisorEnded;
    // Polls if the supervisor is not a child of this process, or was killed while its task survives.
    while ((await exitCodeOf(runDir)) === undefined && isAlive(identity)) await pause(WATCH_MS);
    const code = await pollUntilDefined(() => exitCodeOf(runDir), EXIT_RECORD_TIMEOUT_MS);
    const OOMKilled = (await this.supervision.limits?.wasOutOfMemory(runId(handle))) ?? false;
    await this.cgroups?.kill(runId(handle)); // ends processes that left the process group, too (AG-257)
    await this.supervision.outputs.awaitDrained(runId(handle));
    return { ...(code === undefined ? UNKNOWN_EXIT : exitResult(code)), OOMKilled };
  }

  private get cgroups(): TaskCgroups | undefined {
    const { cgroups } = this.supervision;
    return cgroups instanceof NoCgroupsError ? undefined : cgroups;
  }

  private cgroupOf(run: string, { resources }: TaskConfig, chosen?: CgroupOverride): RunSpec['cgroup'] {
    const cgroups = chosen?.insteadOfOwn ? undefined : this.cgroups;
    const limits = resources ? this.supervision.limits : undefined;
    if (!cgroups && !limits && !chosen) return undefined;
    cgroups?.make(run);
    if (resources) limits?.make(run, resources);
    const placeInCgroups = async (pid: number): Promise<void> => {
      await Promise.all([cgroups?.place(run, pid), limits?.place(run, pid), chosen?.place(pid)]);
    };
    return { place: placeInCgroups };
  }

  /** Cleans up a run of which nothing was started. */
  private async removeUnstarted(run: string): Promise<void> {
    this.cgroups?.removeUnstarted(run);
    await this.supervision.limits?.remove(run);
  }

  private running(taskId: string): Running {
    const task = this.tasks.get(taskId);
    if (!task) throw new TaskNotFoundError(taskId);
    return task;
  }

  /** Returns the name of a running task's run. @throws TaskNotFoundError */
  protected runOf(taskId: string): string {
    return runId(this.running(taskId).handle);
  }

  protected runDir(handle: TaskHandle): string {
    return below(this.supervision.runsDir, runId(handle));
  }
}

function endOf(supervisor: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (supervisor.exitCode !== null || supervisor.signalCode !== null) resolve();
    else supervisor.once('exit', () => resolve());
  });
}

/** Discards the output of a task whose logs are disabled (AG-244). */
function discardedOutput(): OpenOutput {
  const fd = openSync('/dev/null', 'w');
  const pipes = { stdout: '/dev/null', stderr: '/dev/null' };
  return { stdout: fd, stderr: fd, pipes, release: () => closeSync(fd) };
}

const UNKNOWN_EXIT: ExitResult = {
  ExitCode: 137,
  Signal: 0,
  OOMKilled: false,
  Err: 'the supervisor of the task was killed, its exit code is not known',
};

/**
 * Returns the result for an exit code (AG-256). The supervisor's shell reports a death by signal S as 128 + S, so an
 * exit with such a code looks the same.
 */
function exitResult(code: number): ExitResult {
  return { ExitCode: code, Signal: signalOfCode(code), OOMKilled: false, Err: '' };
}

function runId(handle: TaskHandle): PathName {
  const { run } = handle.state;
  if (typeof run !== 'string' || !/^[A-Za-z0-9._-]+$/.test(run))
    throw new TypeError(`not a handle of a supervised task: ${handle.taskId}`);
  return pathName(run, 'the run');
}
