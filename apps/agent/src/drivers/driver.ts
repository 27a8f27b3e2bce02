import type { LogConfig } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { NetworkNamespaces } from '../networks/network-namespaces.store.js';
import type { TaskNetwork } from '../networks/task-network.js';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';

/** ExitResult says how a task ended (agent.md section 22). */
export interface ExitResult {
  readonly ExitCode: number;
  readonly Signal: number;
  readonly OOMKilled: boolean;
  /** The error message; empty if there is none. */
  readonly Err: string;
}

/**
 * TaskHandle holds all that the agent needs to find a task again after a restart. The agent writes it to disk before it
 * starts the task, so that every process is known (AG-440).
 */
export interface TaskHandle {
  readonly driver: string;
  /** The id `<alloc id>/<task>/<random>`, which is new at each start (AG-250). */
  readonly taskId: string;
  readonly startedAtMs: number;
  /** The driver's own state, as JSON. */
  readonly state: Readonly<Record<string, unknown>>;
}

export interface TaskPaths {
  /** The directory that the tasks of the allocation share. */
  readonly allocDir: string;
  readonly logsDir: string;
  readonly taskDir: string;
  readonly localDir: string;
  readonly secretsDir: string;
  /** The directory of the agent's own notes about the task. Clients never see it. */
  readonly privateDir: string;
}

/** TaskMount is a file, directory or device of the machine that a task finds at its own path. */
export interface TaskMount {
  /** The path on the machine. */
  readonly source: string;
  /** The path in the task. */
  readonly destination: string;
  readonly readOnly: boolean;
  /** The propagation `private`, `host-to-task` or `bidirectional`; empty means private. */
  readonly propagation: string;
}

/**
 * MountSupport says how a driver gives a task its mounts. `bind`: they are mounted into the task's own view of files.
 * `link`: the task sees the files of the machine and finds a link in its directory, so a read-only mount cannot be
 * enforced.
 */
export type MountSupport = 'none' | 'link' | 'bind';

/**
 * FileIsolation says which files of the machine a task sees (AG-221). `none`: all files, at their places. `chroot`: the
 * task's directory is the root. `image`: the task has its own files and does not get the machine's environment.
 */
export type FileIsolation = 'none' | 'chroot' | 'image';

/**
 * NetworkIsolation says in which networks a driver can run tasks (NW-21). `host`: the machine's network. `group`: a
 * namespace that the tasks of a group share. `task`: a network that the driver makes for one task.
 */
export type NetworkIsolation = 'host' | 'group' | 'task';

/** The places of a task's directories in its own view of files. */
export const INSIDE = { allocDir: '/alloc', localDir: '/local', secretsDir: '/secrets' } as const;

/** TaskDevice is a device of the machine that a task may use at its own path. */
export interface TaskDevice {
  /** The path on the machine. */
  readonly source: string;
  /** The path in the task. */
  readonly destination: string;
  /** What the task may do: `r`, `w` and `m` (make), in any combination. */
  readonly permissions: string;
}

/** TaskAbout says what a task belongs to, for drivers that show or label it. */
export interface TaskAbout {
  readonly group: string;
  readonly jobId: string;
  readonly jobName: string;
  readonly parentJobId: string;
  readonly namespace: string;
  readonly nodeId: string;
  readonly nodeName: string;
}

/** TaskEvent is an event that a driver reports about one of its tasks. */
export interface TaskEvent {
  readonly allocId: string;
  readonly task: string;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** TaskResources are the resources that the scheduler reserved for a task. */
export interface TaskResources {
  /** CPU in MHz. */
  readonly cpuShares: number;
  /** The cores of the machine that are for this task alone. Absent if there are none. */
  readonly cores?: readonly number[];
  /** Memory in MiB; 0 means unbounded. */
  readonly memoryMB: number;
  /** The memory limit in MiB; 0 means `memoryMB`. */
  readonly memoryMaxMB: number;
}

/** TaskPort is a port of the allocation on its machine. */
export interface TaskPort {
  readonly label: string;
  readonly hostIp: string;
  readonly hostPort: number;
  /** The port inside the network; 0 means the same as `hostPort`. */
  readonly to: number;
}

/** TaskDns says how a task resolves names (AG-297). */
export interface TaskDns {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** TaskConfig is a driver's input about a task. `config` and `env` are interpolated. */
export interface TaskConfig {
  readonly taskId: string;
  readonly allocId: string;
  readonly task: string;
  readonly user: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  /** Absent if there are no mounts. */
  readonly mounts?: readonly TaskMount[];
  /** Absent if there are no devices. */
  readonly devices?: readonly TaskDevice[];
  /** The variables of the devices, which are in `env`, too. Absent if there are none. */
  readonly deviceEnv?: Readonly<Record<string, string>>;
  /** Absent if nobody asks for it. */
  readonly about?: TaskAbout;
  /** Absent if the resources are not bounded. */
  readonly resources?: TaskResources;
  /** Absent if there are no ports. */
  readonly ports?: readonly TaskPort[];
  /** The ports of the task's own network, which only old jobs have (NW-12). Absent if it has no network. */
  readonly ownPorts?: readonly TaskPort[];
  /** Absent if the machine's settings apply. */
  readonly dns?: TaskDns;
  /** The network mode of the group (AG-296); absent or empty means `host`. */
  readonly networkMode?: string;
  /** The group's namespace in which the task runs; absent means the machine's namespace. */
  readonly network?: TaskNetwork;
  readonly paths: TaskPaths;
  readonly logs: LogConfig;
}

/** DriverNetwork is a network that a driver made for one task. */
export interface DriverNetwork {
  readonly ip: string;
  /** The ports inside, by label. */
  readonly portMap: Readonly<Record<string, number>>;
  /** Whether services without an explicit address mode advertise this address. */
  readonly autoAdvertise: boolean;
}

/** The reason why a task of a driver without signals gets none (PG-52). */
export const NO_SIGNALS = 'task driver does not support signals';

export type DriverHealth = 'undetected' | 'unhealthy' | 'healthy';

export interface DriverFingerprint {
  readonly health: DriverHealth;
  readonly description: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The schema of the tasks' `config` for the servers (PG-47); absent for built-in drivers. */
  readonly taskConfigSchema?: string;
}

/**
 * StartError says that a task could not be started. If it is recoverable, another attempt by the restart policy may
 * succeed (AG-106).
 */
export class StartError extends Error {
  override readonly name = 'StartError';
  constructor(
    message: string,
    readonly recoverable = false,
  ) {
    super(message);
  }
}

/** StartCancelledError says that a start was given up: its task is not wanted any more, or the agent ends (PG-140). */
export class StartCancelledError extends Error {
  override readonly name = 'StartCancelledError';
  constructor() {
    super('the start of the task was cancelled');
  }
}

/** TaskConfigError says that the configuration is invalid for the driver (AG-104). A restart does not help. */
export class TaskConfigError extends Error {
  override readonly name = 'TaskConfigError';
}

/** TaskNotFoundError says that the driver does not know the task or has destroyed it (AG-251). */
export class TaskNotFoundError extends Error {
  override readonly name = 'TaskNotFoundError';
  constructor(taskId: string) {
    super(`task not found: ${taskId}`);
  }
}

/**
 * Driver is a way to run tasks. All calls name a task by its id. An id of an earlier start never reaches a later one
 * (AG-250).
 */
export interface Driver {
  readonly name: string;
  /** Absent means `none`. */
  readonly mounts?: MountSupport;
  /** Absent means `none`. */
  readonly isolation?: FileIsolation;
  /** The user of tasks whose job names none. If it is absent, they run as the agent's user or as an image says. */
  readonly defaultUser?: string;
  /** Whether the driver can send signals to tasks; absent means yes. It is known after `validate`. */
  readonly sendsSignals?: boolean;
  /** Whether tasks in their group's namespace can have their own host name; absent means no (NW-26). */
  readonly setsHostname?: boolean;
  /** Absent means `host` and `group`. */
  readonly networkIsolation?: readonly NetworkIsolation[];
  /**
   * The namespaces that the driver makes for groups with its tasks (NW-23). If it is absent, its tasks join namespaces
   * that others make.
   */
  readonly namespaces?: NetworkNamespaces;
  fingerprint(): Promise<DriverFingerprint>;
  /** Registers a listener for changes of the fingerprint. Absent if the driver has to be asked. */
  onChange?(listener: () => void): void;
  /** @throws TaskConfigError, or StartError if the driver cannot answer */
  validate(config: TaskConfig): void | Promise<void>;
  /** Returns the handle that will find the task again. It starts nothing. */
  prepare(config: TaskConfig): TaskHandle;
  /**
   * Starts the task and resolves when it runs. Returns the handle that finds the task from now on, if it is another.
   * @param tell receives messages about slow steps, for people.
   * @param unwanted is aborted when the task is not wanted any more. A driver may give up the start then.
   * @throws StartError, StartCancelledError
   */
  start(
    config: TaskConfig,
    handle: TaskHandle,
    tell?: (message: string) => void,
    unwanted?: AbortSignal,
  ): Promise<TaskHandle | void>;
  /**
   * Recovers a task of an earlier run of the agent. Returns false if the task is gone, and true if the driver knows it
   * already (AG-254).
   */
  recover(handle: TaskHandle): Promise<boolean>;
  /**
   * Returns the exit of the task. All callers get the same result, before and after the exit.
   * @throws TaskNotFoundError
   */
  wait(taskId: string): Promise<ExitResult>;
  /**
   * Stops the task: it sends the signal, waits `timeoutMs`, then kills. Resolves when the task is gone (AG-252).
   * @throws TaskNotFoundError
   */
  stop(taskId: string, timeoutMs: number, signal: string): Promise<void>;
  /** @throws TaskNotFoundError */
  signal(taskId: string, signal: string): Promise<void>;
  /**
   * Runs a command beside the running task. Absent if the driver cannot.
   * @throws TaskNotFoundError, or the reason why the command cannot be started
   */
  exec?(taskId: string, config: TaskConfig, command: ExecCommand): Promise<ExecSession>;
  /** Returns the task's own network. Absent or null means that the task is in its allocation's network. */
  network?(taskId: string): DriverNetwork | null;
  /** Returns the task's use since the call before. @throws TaskNotFoundError */
  stats(taskId: string): Promise<TaskResourceUsage>;
  /** Removes the task and its remains. @throws Error if it runs and `force` is false (AG-253) */
  destroy(handle: TaskHandle, force: boolean): Promise<void>;
}

export const networkIsolationOf = ({ networkIsolation = ['host', 'group'] }: Driver): readonly NetworkIsolation[] =>
  networkIsolation;
