import type { LogConfig } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { NetworkNamespaces } from '../networks/network-namespaces.store.js';
import type { TaskNetwork } from '../networks/task-network.js';
import type { ExecCommand, ExecSession } from '../tasks/exec/exec-session.js';

/** How a task ended (agent.md section 22). */
export interface ExitResult {
  readonly ExitCode: number;
  readonly Signal: number;
  readonly OOMKilled: boolean;
  /** Empty: none. */
  readonly Err: string;
}

/**
 * All that finds a task again after the agent was restarted. On disk before the task is started, so that no process can
 * exist that nobody knows of (AG-440).
 */
export interface TaskHandle {
  readonly driver: string;
  /** `<alloc id>/<task>/<random>`, new at each start (AG-250). */
  readonly taskId: string;
  readonly startedAtMs: number;
  /** The driver's own; JSON. */
  readonly state: Readonly<Record<string, unknown>>;
}

export interface TaskPaths {
  /** Shared by the tasks of the allocation. */
  readonly allocDir: string;
  readonly logsDir: string;
  readonly taskDir: string;
  readonly localDir: string;
  readonly secretsDir: string;
  /** The agent's own notes about the task; never shown. */
  readonly privateDir: string;
}

/** A directory, file or device of the machine that a task finds at a place of its own. */
export interface TaskMount {
  /** On the machine. */
  readonly source: string;
  /** As the task sees it. */
  readonly destination: string;
  readonly readOnly: boolean;
  /** `private`, `host-to-task`, `bidirectional`; empty: private. */
  readonly propagation: string;
}

/**
 * How a driver gives a task its mounts. `bind`: the task has a view of files of its own, into which they are mounted.
 * `link`: it sees the files of the machine, and finds a link in its directory; nothing can keep it from writing there.
 */
export type MountSupport = 'none' | 'link' | 'bind';

/**
 * What a task sees of the machine's files (AG-221). `none`: all of them, at their places. `chroot`: its directory is the
 * root. `image`: files of its own, and nothing of the machine's environment either.
 */
export type FileIsolation = 'none' | 'chroot' | 'image';

/**
 * In what network a driver can run tasks (NW-21). `host`: the machine's. `group`: a namespace that the tasks of a group
 * share. `task`: one that the driver makes for the task alone.
 */
export type NetworkIsolation = 'host' | 'group' | 'task';

/** Where a task without the machine's own files finds its directories. */
export const INSIDE = { allocDir: '/alloc', localDir: '/local', secretsDir: '/secrets' } as const;

/** What the scheduler has given a task. */
export interface TaskResources {
  /** MHz. */
  readonly cpuShares: number;
  /** 0: unbounded. */
  readonly memoryMB: number;
  /** 0: no more than `memoryMB`. */
  readonly memoryMaxMB: number;
}

/** A port of the allocation on its machine. */
export interface TaskPort {
  readonly label: string;
  readonly hostIp: string;
  readonly hostPort: number;
  /** Inside; 0: the same. */
  readonly to: number;
}

/** How names are looked up (AG-297). */
export interface TaskDns {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** What a driver is told about a task. `config` and `env` are interpolated. */
export interface TaskConfig {
  readonly taskId: string;
  readonly allocId: string;
  readonly task: string;
  readonly user: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  /** Absent: none. */
  readonly mounts?: readonly TaskMount[];
  /** Absent: it is not bounded. */
  readonly resources?: TaskResources;
  /** Absent: none. */
  readonly ports?: readonly TaskPort[];
  /** Absent: as the machine. */
  readonly dns?: TaskDns;
  /** Of its group (AG-296); absent or empty: `host`. */
  readonly networkMode?: string;
  /** Namespace of its group that it runs in; absent: that of the machine. */
  readonly network?: TaskNetwork;
  readonly paths: TaskPaths;
  readonly logs: LogConfig;
}

/** A network of its own that a driver has given a task. */
export interface DriverNetwork {
  readonly ip: string;
  /** Port inside, by label. */
  readonly portMap: Readonly<Record<string, number>>;
  /** Services without another address mode are found there. */
  readonly autoAdvertise: boolean;
}

export type DriverHealth = 'undetected' | 'unhealthy' | 'healthy';

export interface DriverFingerprint {
  readonly health: DriverHealth;
  readonly description: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The task could not be started. Recoverable: trying again by the restart policy may help (AG-106). */
export class StartError extends Error {
  override readonly name = 'StartError';
  constructor(
    message: string,
    readonly recoverable = false,
  ) {
    super(message);
  }
}

/** The configuration does not fit the driver (AG-104): no restart helps. */
export class TaskConfigError extends Error {
  override readonly name = 'TaskConfigError';
}

/** The driver has no such task, or has destroyed it (AG-251). */
export class TaskNotFoundError extends Error {
  override readonly name = 'TaskNotFoundError';
  constructor(taskId: string) {
    super(`task not found: ${taskId}`);
  }
}

/** A way to run tasks. All calls name a task by its id; an id of an earlier start never reaches a later one (AG-250). */
export interface Driver {
  readonly name: string;
  /** Absent: `none`. */
  readonly mounts?: MountSupport;
  /** Absent: `none`. */
  readonly isolation?: FileIsolation;
  /** Tasks can have a host name of their own in the namespace of their group (NW-26); absent: they cannot. */
  readonly setsHostname?: boolean;
  /** Absent: `host` and `group`. */
  readonly networkIsolation?: readonly NetworkIsolation[];
  /** Makes the namespaces of groups with its tasks (NW-23); absent: its tasks join one that somebody else makes. */
  readonly namespaces?: NetworkNamespaces;
  fingerprint(): Promise<DriverFingerprint>;
  /** @throws TaskConfigError */
  validate(config: TaskConfig): void;
  /** What will find the task again; nothing is started yet. */
  prepare(config: TaskConfig): TaskHandle;
  /** Resolves when the task runs. @param tell people hear of what takes long. @throws StartError */
  start(config: TaskConfig, handle: TaskHandle, tell?: (message: string) => void): Promise<void>;
  /** Takes up a task of an earlier run of the agent; false: it is not there any more. Known ones are a success (AG-254). */
  recover(handle: TaskHandle): Promise<boolean>;
  /** Any number of callers, before and after the exit, get the same result. @throws TaskNotFoundError */
  wait(taskId: string): Promise<ExitResult>;
  /** Resolves when the task is gone: signal, `timeoutMs`, then hard (AG-252). @throws TaskNotFoundError */
  stop(taskId: string, timeoutMs: number, signal: string): Promise<void>;
  /** @throws TaskNotFoundError */
  signal(taskId: string, signal: string): Promise<void>;
  /** Runs a command beside the task, which runs. Absent: it cannot. @throws why it cannot be started, TaskNotFoundError */
  exec?(taskId: string, config: TaskConfig, command: ExecCommand): Promise<ExecSession>;
  /** Absent or null: the task is in the network of its allocation. */
  network?(taskId: string): DriverNetwork | null;
  /** What the task uses, since it was asked the last time. @throws TaskNotFoundError */
  stats(taskId: string): Promise<TaskResourceUsage>;
  /** Forgets a task and what is left of it. @throws when it runs and `force` is false (AG-253) */
  destroy(handle: TaskHandle, force: boolean): Promise<void>;
}

export const networkIsolationOf = ({ networkIsolation = ['host', 'group'] }: Driver): readonly NetworkIsolation[] =>
  networkIsolation;
