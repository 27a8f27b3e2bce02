import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import type { TaskResourceUsage } from '@waybill/rpc';
import { signalOrInterrupt, signalNamed, DEFAULT_KILL_SIGNAL } from '../task-signal.js';
import { logSpec, type OpenOutput, type TaskOutputs } from '../../logs/task-output.js';
import { NoCgroupsError, type TaskCgroups } from '../task-cgroups.store.js';
import { ProcessTables, treeOf } from '../process-table.js';
import { ProcessUsage } from '../process-usage.js';
import { bootId, isAlive, type ProcessIdentity, sendSignal } from '../process-identity.js';
import {
  type Driver,
  type DriverFingerprint,
  type ExitResult,
  StartError,
  type TaskConfig,
  type TaskHandle,
  TaskNotFoundError,
} from '../driver.js';
import type { ExecCommand, ExecSession } from '../../exec/exec-session.js';
import { execProcess } from '../../exec/process-exec.transport.js';
import { linkMounts } from './linked-mounts.js';
import { findCommand, rawExecConfig, userIds } from './raw-exec-config.js';
import {
  claimUnbegun,
  exitCodeOf,
  findSetsid,
  processOf,
  removeRun,
  type RunSpec,
  supervise,
  wasAbandoned,
} from './supervisor.js';

/** How often a task whose supervisor is not our child is looked at. */
export const WATCH_MS = 500;
/** AG-275: how long a killed process may take to vanish. */
export const VANISH_TIMEOUT_MS = 15_000;
/** A supervisor writes the exit code right after its task ended; one that has not by then never will. */
const EXIT_RECORD_TIMEOUT_MS = 2_000;
const LOOK_MS = 10;

export interface RawExecOptions {
  readonly enabled: boolean;
  /** Where run directories are. */
  readonly runsDir: string;
  readonly outputs: TaskOutputs;
  /** What a whole core of this machine counts as in the usage of tasks. */
  readonly mhzPerCore: number;
  readonly dieWithAgent: boolean;
  /** Absent: only the process group of a task is killed with it, for this reason. */
  readonly cgroups: TaskCgroups | NoCgroupsError;
}

interface Running {
  readonly handle: TaskHandle;
  readonly runDir: string;
  readonly process: ProcessIdentity;
  readonly exit: Promise<ExitResult>;
  readonly usage: ProcessUsage;
  ended: boolean;
}

/**
 * Runs a command as it is, in a process group of its own (agent.md, raw_exec).
 *
 * A task is: starting → running → ended → destroyed. Each start has a run directory in which its supervisor (see
 * supervisor.ts) writes who it is and how it ended; that directory is all a later agent needs to go on. A supervisor
 * that is our child tells its end by exiting, one of an earlier agent is looked at every WATCH_MS.
 * A process is only ever signalled after its start time was compared, so a reused pid is never hit.
 * Limits: VANISH_TIMEOUT_MS, DRAIN_TIMEOUT_MS. Cost: one or two sleeping shells per task.
 */
export class RawExecDriver implements Driver {
  readonly name = 'raw_exec';
  readonly mounts = 'link';
  private readonly tasks = new Map<string, Running>();
  private readonly processes = new ProcessTables();

  constructor(private readonly options: RawExecOptions) {}

  async fingerprint(): Promise<DriverFingerprint> {
    if (!this.options.enabled) return { health: 'undetected', description: 'disabled', attributes: {} };
    if (findSetsid() === undefined)
      return { health: 'undetected', description: 'the program setsid is missing', attributes: {} };
    const { cgroups } = this.options;
    const attributes = {
      'driver.raw_exec': '1',
      'driver.raw_exec.cgroups': String(!(cgroups instanceof NoCgroupsError)),
      ...(cgroups instanceof NoCgroupsError && { 'driver.raw_exec.cgroups.missing': cgroups.message }),
    };
    return { health: 'healthy', description: 'Healthy', attributes };
  }

  validate(config: TaskConfig): void {
    rawExecConfig(config.config);
  }

  prepare(config: TaskConfig): TaskHandle {
    const run = `${config.allocId}.${randomBytes(6).toString('hex')}`;
    return { driver: this.name, taskId: config.taskId, startedAtMs: Date.now(), state: { run } };
  }

  async start(config: TaskConfig, handle: TaskHandle): Promise<void> {
    if (!this.options.enabled) throw new StartError('raw_exec is disabled');
    const { command, args, workDir } = rawExecConfig(config.config);
    const executable = findCommand(command, config.paths, config.env['PATH'] ?? process.env['PATH'] ?? '');
    const user = userIds(config.user);
    await linkMounts(config);
    const runDir = this.runDir(handle);
    mkdirSync(runDir, { recursive: true });
    if (user) chownSync(runDir, user.uid, user.gid);
    const output = config.logs.Disabled
      ? discarded()
      : await this.options.outputs.open(
          runId(handle),
          logSpec(config.paths.logsDir, config.task, 'stdout', config.logs),
          logSpec(config.paths.logsDir, config.task, 'stderr', config.logs),
        );
    let supervisor: ChildProcess;
    const cgroup = this.cgroupOf(runId(handle));
    try {
      supervisor = await supervise({
        runDir,
        command: executable,
        args,
        cwd: workDir ?? config.paths.taskDir,
        env: config.env,
        stdout: output.stdout,
        stderr: output.stderr,
        ...user,
        ...(cgroup && { cgroup }),
        dieWithAgent: this.options.dieWithAgent,
      });
    } catch (error) {
      this.cgroups?.forget(runId(handle));
      throw new StartError(error instanceof Error ? error.message : String(error));
    } finally {
      output.release();
    }
    const identity = await processOf(runDir);
    if (!identity) {
      this.cgroups?.forget(runId(handle));
      throw new StartError('the supervisor of the task ended before it started the command');
    }
    supervisor.stdin?.write(`${identity.pid}\n`);
    this.track(handle, runDir, identity, endOf(supervisor));
  }

  async recover(handle: TaskHandle): Promise<boolean> {
    if (this.tasks.has(handle.taskId)) return true;
    const runDir = this.runDir(handle);
    if ((await claimUnbegun(runDir)) || wasAbandoned(runDir)) return false;
    const identity = await until(() => processOf(runDir), EXIT_RECORD_TIMEOUT_MS);
    if (!identity) return false;
    if (identity.bootId !== bootId() || !isAlive(identity)) {
      // It ended while no agent ran: its supervisor has kept how (AG-443), or nobody knows.
      if ((await until(() => exitCodeOf(runDir), EXIT_RECORD_TIMEOUT_MS)) === undefined) return false;
    }
    this.track(handle, runDir, identity, undefined);
    return true;
  }

  async wait(taskId: string): Promise<ExitResult> {
    return this.running(taskId).exit;
  }

  async stop(taskId: string, timeoutMs: number, signal: string): Promise<void> {
    const task = this.running(taskId);
    if (task.ended) return;
    const name = signal === '' ? DEFAULT_KILL_SIGNAL : signal;
    const known = signalNamed(name);
    if (!known) throw new Error(`signal "${name}" is not known on this machine`);
    if (timeoutMs > 0) {
      if (isAlive(task.process)) sendSignal(task.process.pid, known);
      if (await within(task.exit, timeoutMs)) return;
    }
    if (isAlive(task.process)) {
      sendSignal(task.process.pid, 'SIGKILL');
      sendSignal(task.process.pid, 'SIGKILL', true);
    }
    await this.cgroups?.kill(runId(task.handle));
    if (!(await within(task.exit, VANISH_TIMEOUT_MS)))
      throw new Error(`process did not exit after ${VANISH_TIMEOUT_MS / 1000} seconds`);
  }

  async signal(taskId: string, signal: string): Promise<void> {
    const task = this.running(taskId);
    if (!task.ended && isAlive(task.process)) sendSignal(task.process.pid, signalOrInterrupt(signal));
  }

  /** AG-278. Nothing is measured until somebody asks. */
  async stats(taskId: string): Promise<TaskResourceUsage> {
    const { process, usage } = this.running(taskId);
    const recent = usage.recent(Date.now());
    if (recent) return recent;
    const table = await this.processes.now();
    const members = isAlive(process) ? treeOf(table, process.pid) : [];
    const measured = await Promise.all(
      members.map(async (row) => ({ ...row, ...(await this.processes.memoryOf(row.pid)) })),
    );
    return usage.sample(table.takenAtMs, measured);
  }

  /** AG-277. */
  async exec(taskId: string, config: TaskConfig, { command, tty }: ExecCommand): Promise<ExecSession> {
    this.running(taskId);
    const [file, ...args] = command;
    return execProcess({
      file: findCommand(file, config.paths, config.env['PATH'] ?? process.env['PATH'] ?? ''),
      args,
      cwd: rawExecConfig(config.config).workDir ?? config.paths.taskDir,
      env: config.env,
      user: userIds(config.user),
      tty,
    });
  }

  async destroy(handle: TaskHandle, force: boolean): Promise<void> {
    const task = this.tasks.get(handle.taskId);
    if (task && !task.ended) {
      if (!force) throw new Error('cannot destroy running task');
      await this.stop(handle.taskId, 0, DEFAULT_KILL_SIGNAL);
    } else if (!task && !(await claimUnbegun(this.runDir(handle)))) {
      const identity = await processOf(this.runDir(handle));
      if (identity && isAlive(identity)) sendSignal(identity.pid, 'SIGKILL', true);
      await this.cgroups?.kill(runId(handle));
    }
    this.tasks.delete(handle.taskId);
    await removeRun(this.runDir(handle));
  }

  private track(
    handle: TaskHandle,
    runDir: string,
    identity: ProcessIdentity,
    supervisorEnded: Promise<void> | undefined,
  ): void {
    const exit = this.exitOf(handle, runDir, identity, supervisorEnded);
    const usage = new ProcessUsage(handle.startedAtMs, this.options.mhzPerCore);
    const task: Running = { handle, runDir, process: identity, exit, usage, ended: false };
    this.tasks.set(handle.taskId, task);
    void exit.then(() => {
      task.ended = true;
    });
  }

  private async exitOf(
    handle: TaskHandle,
    runDir: string,
    identity: ProcessIdentity,
    supervisorEnded: Promise<void> | undefined,
  ): Promise<ExitResult> {
    await supervisorEnded;
    // Where the supervisor is no child of ours, or was killed while its task lives on.
    while ((await exitCodeOf(runDir)) === undefined && isAlive(identity)) await pause(WATCH_MS);
    const code = await until(() => exitCodeOf(runDir), EXIT_RECORD_TIMEOUT_MS);
    await this.cgroups?.kill(runId(handle)); // AG-257: also what left the group
    await this.options.outputs.drained(runId(handle));
    return code === undefined ? UNKNOWN_EXIT : exitResult(code);
  }

  private get cgroups(): TaskCgroups | undefined {
    const { cgroups } = this.options;
    return cgroups instanceof NoCgroupsError ? undefined : cgroups;
  }

  private cgroupOf(run: string): RunSpec['cgroup'] {
    const { cgroups } = this;
    if (!cgroups) return undefined;
    cgroups.make(run);
    return { directory: cgroups.directoryOf(run), place: (pid) => cgroups.place(run, pid) };
  }

  private running(taskId: string): Running {
    const task = this.tasks.get(taskId);
    if (!task) throw new TaskNotFoundError(taskId);
    return task;
  }

  private runDir(handle: TaskHandle): string {
    return path.join(this.options.runsDir, runId(handle));
  }
}

function endOf(supervisor: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (supervisor.exitCode !== null || supervisor.signalCode !== null) resolve();
    else supervisor.once('exit', () => resolve());
  });
}

/** AG-244: output that goes nowhere. */
function discarded(): OpenOutput {
  const fd = openSync('/dev/null', 'w');
  return { stdout: fd, stderr: fd, release: () => closeSync(fd) };
}

const UNKNOWN_EXIT: ExitResult = {
  ExitCode: 137,
  Signal: 0,
  OOMKilled: false,
  Err: 'the supervisor of the task was killed, its exit code is not known',
};

/**
 * AG-256. The supervisor's shell shows a death by signal S as 128 + S, and so an exit with such a code looks the same.
 */
function exitResult(code: number): ExitResult {
  const signal = code > 128 && code < 128 + 65 ? code - 128 : 0;
  return { ExitCode: code, Signal: signal, OOMKilled: false, Err: '' };
}

function runId(handle: TaskHandle): string {
  const { run } = handle.state;
  if (typeof run !== 'string' || !/^[A-Za-z0-9._-]+$/.test(run))
    throw new TypeError(`not a handle of raw_exec: ${handle.taskId}`);
  return run;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The first answer that is one, or undefined after `timeoutMs`. */
async function until<T>(look: () => Promise<T | undefined>, timeoutMs: number): Promise<T | undefined> {
  for (const deadline = Date.now() + timeoutMs; ;) {
    const found = await look();
    if (found !== undefined || Date.now() >= deadline) return found;
    await pause(LOOK_MS);
  }
}

/** True if it is settled within `ms`. */
async function within(settled: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([settled.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
