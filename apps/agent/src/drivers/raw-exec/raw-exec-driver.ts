import { chownSync } from 'node:fs';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { execProcess } from '../../tasks/exec/process-exec.transport.js';
import { statOrNone } from '../../paths/stat-or-none.store.js';
import { type DriverFingerprint, StartError, type TaskConfig, type TaskHandle } from '../driver.js';
import { findCommand, type TaskView } from '../find-command.js';
import { inNetwork } from '../supervised/in-network.js';
import { type Launch, SupervisedDriver, type SupervisionOptions } from '../supervised/supervised-driver.js';
import { asItIs, findSetsid } from '../supervised/supervisor.js';
import { carriedVariables } from '../supervised/task-environment.js';
import { NoCgroupsError } from '../task-cgroups.store.js';
import { type UserIds, userIds } from '../user-ids.js';
import { chosenCgroups } from './cgroup-override.js';
import { allowedVariables, type Denials, refuseUser } from './denials.js';
import { linkMounts } from './linked-mounts.js';
import { rawExecConfig } from '../task-config.js';

export interface RawExecOptions extends SupervisionOptions {
  readonly enabled: boolean;
  /** The user of tasks whose job names none; empty means the agent's user. */
  readonly defaultUser: string;
  readonly denials: Denials;
}

/** RawExecDriver runs a command without isolation: it sees the whole machine and has no limits (agent.md, raw_exec). */
export class RawExecDriver extends SupervisedDriver {
  readonly name = 'raw_exec';
  readonly mounts = 'link';

  constructor(private readonly options: RawExecOptions) {
    super(options);
  }

  get defaultUser(): string {
    return this.options.defaultUser;
  }

  async fingerprint(): Promise<DriverFingerprint> {
    if (!this.options.enabled) return { health: 'undetected', description: 'disabled', attributes: {} };
    if (findSetsid() === undefined)
      return { health: 'undetected', description: 'the program setsid is missing', attributes: {} };
    const problem = defaultUserProblem(this.defaultUser);
    if (problem !== undefined) return { health: 'undetected', description: problem, attributes: {} };
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

  /** Runs a command in the task's directory and environment, with or without a terminal (AG-277). */
  async exec(taskId: string, config: TaskConfig, { command, tty }: ExecCommand): Promise<ExecSession> {
    this.processOf(taskId);
    const [file, ...args] = command;
    const wanted = { file: commandPath(file, config), args, user: this.userOf(config) };
    return execProcess({
      ...inNetwork(config.network?.namespace, wanted),
      cwd: rawExecConfig(config.config).workDir ?? config.paths.taskDir,
      env: this.visibleVariables(config),
      tty,
    });
  }

  protected async launch(config: TaskConfig, handle: TaskHandle): Promise<Launch> {
    if (!this.options.enabled) throw new StartError('raw_exec is disabled');
    const wanted = rawExecConfig(config.config);
    const { command, args, workDir, oomScoreAdj } = wanted;
    if (workDir !== undefined && !statOrNone(workDir)?.isDirectory())
      throw new StartError(`work_dir "${workDir}" is no directory of this machine`);
    const executable = commandPath(command, config);
    const user = this.userOf(config);
    if (user) chownSync(config.paths.secretsDir, user.uid, user.gid); // the secrets belong to the task's user (AG-220)
    await linkMounts(config);
    return {
      commandLine: (placed) => asItIs({ runDir: this.runDir(handle), placed, oomScoreAdj }, [executable, ...args]),
      cgroups: await chosenCgroups(wanted),
      cwd: workDir ?? config.paths.taskDir,
      env: carriedVariables(this.visibleVariables(config)),
      user,
    };
  }

  /** Returns the user of a task; undefined means the agent's own. @throws StartError for a denied user (AG-272) */
  private userOf({ user }: TaskConfig): UserIds | undefined {
    const ids = userIds(user || this.defaultUser);
    const { getuid, getgid } = process;
    if (getuid && getgid) refuseUser(this.options.denials, ids ?? { uid: getuid(), gid: getgid() });
    return ids;
  }

  private visibleVariables({ env, config }: TaskConfig): Record<string, string> {
    return allowedVariables(env, this.options.denials, rawExecConfig(config).deniedVariables);
  }
}

/** Says why no task can run as the default user of this machine; undefined if tasks can. */
function defaultUserProblem(user: string): string | undefined {
  try {
    const ids = userIds(user);
    const own = process.geteuid?.();
    if (ids === undefined || own === 0 || own === ids.uid) return undefined;
    return `the agent is not root, so no task can run as WAYBILL_RAW_EXEC_USER "${user}"`;
  } catch (error) {
    if (error instanceof StartError) return `WAYBILL_RAW_EXEC_USER: ${error.message}`;
    throw error;
  }
}

/** Finds a task's command (AG-273). @throws StartError */
function commandPath(command: string, { paths, env }: TaskConfig): string {
  const view: TaskView = { localDir: paths.localDir, taskDir: paths.taskDir, onMachine: (file) => file };
  return findCommand(command, view, env['PATH'] ?? process.env['PATH'] ?? '');
}
