import { chownSync, existsSync, realpathSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { execProcess } from '../../tasks/exec/process-exec.transport.js';
import { type DriverFingerprint, StartError, type TaskConfig, type TaskHandle } from '../driver.js';
import { findCommand } from '../find-command.js';
import { type Launch, SupervisedDriver, type SupervisionOptions } from '../supervised/supervised-driver.js';
import { carried, inTaskEnvironment } from '../supervised/task-environment.js';
import { NoLimitsError, type TaskLimits } from '../task-limits.store.js';
import { type UserIds, userIds } from '../user-ids.js';
import { addedCapabilities, boundingCapabilities } from '../capabilities.js';
import { hostsFile, resolvConf } from '../../networks/name-files.js';
import { Chroot } from './chroot.js';
import { enclosed, type EnclosureMount } from './enclosure.js';
import { type ExecConfig, execConfig } from './exec-config.js';
import { type ExecTools, ExecUnavailableError, findTools, tryOut } from './exec-tools.js';
import { enclosureMounts } from './mount-points.js';
import { below } from '../../paths/path-name.js';

/** As whom a task runs that does not say. */
const DEFAULT_USER = 'nobody';
const RESOLV_CONF = '/etc/resolv.conf';
const HOSTS = '/etc/hosts';

export interface ExecOptions extends Omit<SupervisionOptions, 'limits'> {
  /** Where tasks see which directory of the machine. */
  readonly chroot: Readonly<Record<string, string>>;
  readonly allowedCapabilities: readonly string[];
  /** Or why nothing bounds what tasks take. */
  readonly limits: TaskLimits | NoLimitsError;
}

/**
 * Runs a command apart from the machine (AG-280): in a root of its own (enclosure.ts), with processes, shared memory and
 * a host name of its own, without the rights of root, within the memory it was given. What is not kept apart: the network,
 * unless its group has a namespace, and user ids, so that root in a task is root where the machine's files are shown to it.
 */
export class ExecDriver extends SupervisedDriver {
  readonly name = 'exec';
  readonly mounts = 'bind';
  readonly isolation = 'chroot';
  readonly setsHostname = true;
  private readonly chroot: Chroot;
  /** Found once it was tried out. */
  private tools: ExecTools | undefined;

  constructor(private readonly options: ExecOptions) {
    const { limits, ...supervision } = options;
    super({ ...supervision, ...(!(limits instanceof NoLimitsError) && { limits }) });
    this.chroot = new Chroot(options.chroot);
  }

  async fingerprint(): Promise<DriverFingerprint> {
    try {
      await this.ready();
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

  /** The command is bounded as the task is, and ends with it. */
  async exec(taskId: string, config: TaskConfig, { command, tty }: ExecCommand): Promise<ExecSession> {
    const { pid } = this.processOf(taskId);
    const { nsenter } = await this.ready();
    const { ipc_mode, pid_mode, ...task } = execConfig(config.config);
    const [file, ...args] = command;
    const executable = this.found(file, config);
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
      env: { ...carried(config.env), ...(tty && { TERM: config.env['TERM'] ?? 'xterm' }) },
      user: undefined,
      tty,
    });
  }

  protected async launch(config: TaskConfig, handle: TaskHandle): Promise<Launch> {
    const tools = await this.ready();
    const task = execConfig(config.config);
    const executable = this.found(task.command, config);
    const command = await this.asUser(task, config, [executable, ...task.args]);
    const { uid, gid } = idsOf(config);
    chownSync(config.paths.secretsDir, uid, gid); // the secrets belong to the task's user (AG-220)
    const mounts = [
      ...(await enclosureMounts(config, this.chroot)),
      ...(await this.resolver(config)),
      ...(await this.hosts(config)),
    ];
    return {
      commandLine: (placed) =>
        enclosed(
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
      env: carried(config.env),
    };
  }

  /** @throws ExecUnavailableError */
  private async ready(): Promise<ExecTools> {
    if (!this.tools) {
      const tools = findTools(this.chroot);
      await tryOut(tools, this.chroot, this.options.runsDir);
      this.tools = tools;
    }
    return this.tools;
  }

  private found(command: string, { paths, env }: TaskConfig): string {
    return findCommand(command, this.chroot.viewOf(paths), env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin');
  }

  /** A command of the task's root that becomes another one without the rights of root. */
  private async asUser(
    { cap_add, cap_drop, work_dir }: Pick<ExecConfig, 'cap_add' | 'cap_drop' | 'work_dir'>,
    config: TaskConfig,
    command: readonly string[],
  ): Promise<string[]> {
    const { setprivInside } = await this.ready();
    const { uid, gid } = idsOf(config);
    const allowed = this.options.allowedCapabilities;
    const bounding = set(boundingCapabilities(cap_add, cap_drop, allowed));
    // Root has what it is bounded by; another user only what the task asks for by name.
    const added = set(uid === 0 ? [] : addedCapabilities(cap_add, allowed));
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

  /** The `resolv.conf` of a task whose network has DNS settings of its own (NW-91). */
  private async resolver({ dns, paths }: TaskConfig): Promise<EnclosureMount[]> {
    if (!dns) return [];
    const text = resolvConf(dns, await readFile(RESOLV_CONF, 'utf8').catch(() => ''));
    return [await this.ownFile(RESOLV_CONF, below(paths.privateDir, 'resolv.conf'), text)];
  }

  /** Mounts a hosts file in which the task's hostname resolves to its own address (NW-26). */
  private async hosts({ network, paths }: TaskConfig): Promise<EnclosureMount[]> {
    if (!network || network.hostname === '') return [];
    const text = hostsFile(network.hostname, network.status?.Address ?? '');
    return [await this.ownFile(HOSTS, below(paths.privateDir, 'hosts'), text)];
  }

  /** A file in the place of the machine's, for reading. @throws StartError */
  private async ownFile(place: string, source: string, text: string): Promise<EnclosureMount> {
    const destination = existsSync(place) ? this.chroot.inside(realpathSync(place)) : undefined;
    if (destination === undefined) throw new StartError(`the task has no ${place} to put its own in the place of`);
    await writeFile(source, text, { mode: 0o644 });
    return { how: 'bind', propagation: 'private', options: 'ro,nosuid,nodev', source, destination };
  }

  private cgroupsOf(taskId: string): string[] {
    const { limits } = this.supervision;
    return limits?.directoriesOf(this.runOf(taskId)).filter((cgroup) => existsSync(cgroup)) ?? [];
  }
}

/** Goes into cgroups, then becomes what follows. */
const JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 126; shift; done; shift; exec "$@"';

/** Without a namespace of its group it gets one of its own that leads nowhere. */
const isOffline = ({ networkMode, network }: TaskConfig): boolean => networkMode === 'none' && !network;

const set = (capabilities: readonly string[]): string => ['-all', ...capabilities.map((one) => `+${one}`)].join(',');

function idsOf({ user }: TaskConfig): UserIds {
  const ids = userIds(user === '' ? DEFAULT_USER : user);
  if (!ids) throw new StartError(`failed to find the user "${user}"`);
  return ids;
}
