import { chownSync, existsSync, realpathSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { execProcess } from '../../tasks/exec/process-exec.transport.js';
import { type DriverFingerprint, StartError, type TaskConfig, type TaskHandle, type TaskMount } from '../driver.js';
import { findCommand } from '../find-command.js';
import { type Launch, SupervisedDriver, type SupervisionOptions } from '../supervised/supervised-driver.js';
import { carriedVariables, inTaskEnvironment } from '../supervised/task-environment.js';
import { NoLimitsError, type TaskLimits } from '../task-limits.store.js';
import { type UserIds, userIds } from '../user-ids.js';
import { addedCapabilities, boundingCapabilities } from '../capabilities.js';
import { hostsFile, resolvConf } from '../../networks/name-files.js';
import { Chroot } from './chroot.js';
import { enclosedCommand, type EnclosureMount } from './enclosure.js';
import type { ExecConfig } from '@waybill/plugins';
import { execConfig } from '../task-config.js';
import { type ExecTools, ExecUnavailableError, findTools, tryOut } from './exec-tools.js';
import { enclosureMounts } from './mount-points.js';
import { below } from '../../paths/path-name.js';

/** The user of a task that names none. */
const DEFAULT_USER = 'nobody';
const RESOLV_CONF = '/etc/resolv.conf';
const HOSTS = '/etc/hosts';

export interface ExecOptions extends Omit<SupervisionOptions, 'limits'> {
  /** The paths in tasks of the machine's directories. */
  readonly chroot: Readonly<Record<string, string>>;
  readonly allowedCapabilities: readonly string[];
  /** The limits of tasks, or the reason why there are none. */
  readonly limits: TaskLimits | NoLimitsError;
}

/**
 * ExecDriver runs a command isolated from the machine (AG-280). The command has its own root (enclosure.ts), processes,
 * shared memory and host name. It lacks the rights of root and stays within its memory limit. Two things are not
 * isolated: the network, unless the group has a namespace, and user ids. Root in a task is therefore root for the
 * machine's files that the task sees.
 */
export class ExecDriver extends SupervisedDriver {
  readonly name = 'exec';
  readonly mounts = 'bind';
  readonly isolation = 'chroot';
  readonly defaultUser = DEFAULT_USER;
  readonly setsHostname = true;
  private readonly chroot: Chroot;
  /** The tools, once a trial has succeeded. */
  private tools: ExecTools | undefined;

  constructor(private readonly options: ExecOptions) {
    const { limits, ...supervision } = options;
    super({ ...supervision, ...(!(limits instanceof NoLimitsError) && { limits }) });
    this.chroot = new Chroot(options.chroot);
  }

  async fingerprint(): Promise<DriverFingerprint> {
    try {
      await this.readyTools();
    } catch (error) {
      if (!(error instanceof ExecUnavailableError)) throw error;
      return { health: 'undetected', description: error.message, attributes: {} };
    }
    const { limits } = this.options;
    const attributes = {
      'driver.exec': '1',
      'driver.exec.limits': String(!(limits instanceof NoLimitsError)),
      ...(limits instanceof NoLimitsError && { 'driver.exec.limits.missing': limits.message }),
    };
    return { health: 'healthy', description: 'Healthy', attributes };
  }

  validate(config: TaskConfig): void {
    const { cap_add, cap_drop } = execConfig(config.config);
    boundingCapabilities(cap_add, cap_drop, this.options.allowedCapabilities);
  }

  /** Runs a command beside the task. It has the task's limits and ends with the task. */
  async exec(taskId: string, config: TaskConfig, { command, tty }: ExecCommand): Promise<ExecSession> {
    const { pid } = this.processOf(taskId);
    const { nsenter } = await this.readyTools();
    const { ipc_mode, pid_mode, ...task } = execConfig(config.config);
    const [file, ...args] = command;
    const executable = this.commandPath(file, config);
    const namespaces = [
      '--mount',
      '--uts',
      ...(isOffline(config) || config.network ? ['--net'] : []),
      ...(ipc_mode === 'private' ? ['--ipc'] : []),
      ...(pid_mode === 'private' ? ['--pid'] : []),
    ];
    const inside = await this.asUser(task, config, [executable, ...args]);
    return execProcess({
      file: '/bin/sh',
      args: [
        '-c',
        JOIN,
        'sh',
        ...this.cgroupsOf(taskId),
        '--',
        nsenter,
        `--target=${pid}`,
        ...namespaces,
        '--',
        ...inside,
      ],
      cwd: '/',
      env: { ...carriedVariables(config.env), ...(tty && { TERM: config.env['TERM'] ?? 'xterm' }) },
      user: undefined,
      tty,
    });
  }

  protected async launch(config: TaskConfig, handle: TaskHandle): Promise<Launch> {
    const tools = await this.readyTools();
    const task = execConfig(config.config);
    const executable = this.commandPath(task.command, config);
    const command = await this.asUser(task, config, [executable, ...task.args]);
    const { uid, gid } = idsOf(config);
    chownSync(config.paths.secretsDir, uid, gid); // the secrets belong to the task's user (AG-220)
    const mounts = [
      ...(await enclosureMounts(
        { ...config, mounts: [...(config.mounts ?? []), ...deviceMounts(config)] },
        this.chroot,
      )),
      ...(await this.resolverMounts(config)),
      ...(await this.hostsMounts(config)),
    ];
    return {
      commandLine: (placed) =>
        enclosedCommand(
          {
            runDir: this.runDir(handle),
            taskDir: config.paths.taskDir,
            pidMode: task.pid_mode,
            ipcMode: task.ipc_mode,
            isOffline: isOffline(config),
            hostname: config.network?.hostname ?? '',
            mounts,
            placed,
            tools,
          },
          command,
        ),
      cwd: '/',
      env: carriedVariables(config.env),
    };
  }

  /** @throws ExecUnavailableError */
  private async readyTools(): Promise<ExecTools> {
    if (!this.tools) {
      const tools = findTools(this.chroot);
      await tryOut(tools, this.chroot, this.options.runsDir);
      this.tools = tools;
    }
    return this.tools;
  }

  private commandPath(command: string, { paths, env }: TaskConfig): string {
    return findCommand(command, this.chroot.viewOf(paths), env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin');
  }

  /**
   * Returns a command line inside the task's root that runs a command as the task's user without the rights of root.
   */
  private async asUser(
    { cap_add, cap_drop, work_dir }: Pick<ExecConfig, 'cap_add' | 'cap_drop' | 'work_dir'>,
    config: TaskConfig,
    command: readonly string[],
  ): Promise<string[]> {
    const { setprivInside } = await this.readyTools();
    const { uid, gid } = idsOf(config);
    const allowed = this.options.allowedCapabilities;
    const bounding = capabilitySet(boundingCapabilities(cap_add, cap_drop, allowed));
    // Root gets all capabilities within its bounds. Another user gets only those that the task adds by name.
    const added = capabilitySet(uid === 0 ? [] : addedCapabilities(cap_add, allowed));
    return [
      setprivInside,
      `--reuid=${uid}`,
      `--regid=${gid}`,
      '--clear-groups',
      '--no-new-privs',
      `--bounding-set=${bounding}`,
      `--inh-caps=${added}`,
      `--ambient-caps=${added}`,
      '--',
      ...inTaskEnvironment(work_dir, command),
    ];
  }

  /** Mounts a `resolv.conf` if the task's network has its own DNS settings (NW-91). */
  private async resolverMounts({ dns, paths }: TaskConfig): Promise<EnclosureMount[]> {
    if (!dns) return [];
    const text = resolvConf(dns, await readFile(RESOLV_CONF, 'utf8').catch(() => ''));
    return [await this.ownFile(RESOLV_CONF, below(paths.privateDir, 'resolv.conf'), text)];
  }

  /** Mounts a hosts file in which the task's hostname resolves to its own address (NW-26). */
  private async hostsMounts({ network, paths }: TaskConfig): Promise<EnclosureMount[]> {
    if (!network || network.hostname === '') return [];
    const text = hostsFile(network.hostname, network.status?.Address ?? '');
    return [await this.ownFile(HOSTS, below(paths.privateDir, 'hosts'), text)];
  }

  /** Returns a read-only mount of a file over the machine's file. @throws StartError */
  private async ownFile(place: string, source: string, text: string): Promise<EnclosureMount> {
    const destination = existsSync(place) ? this.chroot.pathInside(realpathSync(place)) : undefined;
    if (destination === undefined) throw new StartError(`the task has no ${place} to put its own in the place of`);
    await writeFile(source, text, { mode: 0o644 });
    return { how: 'bind', propagation: 'private', options: 'ro,nosuid,nodev', source, destination };
  }

  private cgroupsOf(taskId: string): string[] {
    const { limits } = this.supervision;
    return limits?.directoriesOf(this.runOf(taskId)).filter((cgroup) => existsSync(cgroup)) ?? [];
  }
}

/** Joins cgroups, then becomes the command that follows. */
const JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 126; shift; done; shift; exec "$@"';

/** Says whether the task has no network. Without a group's namespace, such a task gets an empty namespace. */
const isOffline = ({ networkMode, network }: TaskConfig): boolean => networkMode === 'none' && !network;

const capabilitySet = (capabilities: readonly string[]): string =>
  ['-all', ...capabilities.map((one) => `+${one}`)].join(',');

function idsOf({ user }: TaskConfig): UserIds {
  const ids = userIds(user === '' ? DEFAULT_USER : user);
  if (!ids) throw new StartError(`failed to find the user "${user}"`);
  return ids;
}

/** A device that a plugin reserved is bound at its place in the task's root (PG-98). */
const deviceMounts = ({ devices = [] }: TaskConfig): TaskMount[] =>
  devices.map(({ source, destination, permissions }) => {
    return { source, destination, readOnly: !permissions.includes('w'), propagation: '' };
  });
