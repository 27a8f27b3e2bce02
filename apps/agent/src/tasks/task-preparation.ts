import { type DNSConfig, findTaskGroup, type Node, portsOfNetwork } from '@waybill/model';
import type { AllocationDirectories } from '../allocations/disk/allocation-directories.js';
import {
  type Driver,
  type FileIsolation,
  INSIDE,
  type TaskAbout,
  type TaskConfig,
  type TaskPaths,
} from '../drivers/driver.js';
import type { TaskNetwork } from '../networks/task-network.js';
import { type HookedTask, runPrestart, type TaskHook, type TaskStart } from './task-hook.js';
import { TaskEnv } from './task-env.js';

export interface TaskPreparationDependencies {
  readonly directories: AllocationDirectories;
  /** The hooks in the order in which they run; the default is none. */
  readonly taskHooks?: readonly TaskHook[];
  readonly node: () => Node;
  readonly region: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
}

/** WantedTask is a task as the servers want it now. */
export interface WantedTask extends Pick<HookedTask, 'alloc' | 'job' | 'task'> {
  /** The network of the allocation; absent or null means the machine's network. */
  readonly network?: TaskNetwork | null;
}

/** TaskRound is one start of a task, as its hooks see it. */
export type TaskRound = Pick<TaskStart, 'signal' | 'over' | 'emit' | 'control'>;

/**
 * TaskPreparation does the work between "it may start" and the driver's start: directories, environment, hooks.
 * Stateless.
 */
export class TaskPreparation {
  constructor(
    private readonly deps: TaskPreparationDependencies,
    /** The driver, whose isolation may become known only when its plugin runs. */
    private readonly driver: Pick<Driver, 'isolation'>,
  ) {}

  async configure(taskId: string, wanted: WantedTask): Promise<TaskConfig> {
    const { alloc, task } = wanted;
    const paths = await this.deps.directories.build(alloc.ID, task.Name);
    const identity = { taskId, allocId: alloc.ID, task: task.Name, user: task.User };
    const inEnv = this.inEnv(wanted, paths);
    return {
      ...identity,
      ...inEnv,
      ...this.assignedTo(wanted, paths),
      about: this.taskAbout(wanted),
      paths,
      logs: task.LogConfig,
    };
  }

  /** Runs the prestart hooks. @returns the task's configuration with the additions of the hooks. @throws HookError */
  async prestart(config: TaskConfig, wanted: WantedTask, round: TaskRound): Promise<TaskConfig> {
    const hooks = this.deps.taskHooks ?? [];
    const { env: added, mounts, devices, deviceEnv } = await runPrestart(hooks, this.startOf(config, wanted, round));
    const hasMore = Object.keys(added).length > 0;
    return {
      ...config,
      ...(hasMore && this.inEnv(wanted, config.paths, added)),
      mounts,
      ...(devices.length > 0 && { devices }),
      deviceEnv,
    };
  }

  /** Runs the restore hooks of a task that continued without the agent. @throws a hook's error */
  async restore(config: TaskConfig, wanted: WantedTask, round: TaskRound): Promise<void> {
    const start = this.startOf(config, wanted, round);
    for (const hook of this.deps.taskHooks ?? []) await hook.restore?.(start);
  }

  private startOf(config: TaskConfig, wanted: WantedTask, round: TaskRound): TaskStart {
    // The agent makes the files that a job names, so it needs the machine's paths. The task reads the text of
    // templates, so they need the task's paths. Both are made on demand: most tasks need neither, and an environment is
    // the most expensive part of a start.
    const onMachine = memoized(() => this.envOf(wanted, config.paths));
    const inTask = memoized(() => this.envOf(wanted, this.pathsInTask(config.paths)));
    const interpolate = (text: string): string => onMachine().interpolate(text);
    const interpolateInTask = (text: string): string => inTask().interpolate(text);
    const { alloc, job, task } = wanted;
    const lookup = (name: string): string | undefined => inTask().lookup(name);
    return { alloc, job, task, config, interpolate, interpolateInTask, lookup, ...round };
  }

  private inEnv(
    wanted: WantedTask,
    paths: TaskPaths,
    added?: Readonly<Record<string, string>>,
  ): Pick<TaskConfig, 'config' | 'env'> {
    const env = this.envOf(wanted, this.pathsInTask(paths), added);
    return { config: env.interpolateAll(wanted.task.Config ?? {}) as Record<string, unknown>, env: env.variables };
  }

  private envOf(wanted: WantedTask, paths: TaskPaths, added: Readonly<Record<string, string>> = {}): TaskEnv {
    const { node, region } = this.deps;
    const { alloc, job, task, network } = wanted;
    const hostEnv = this.isolation === 'image' ? {} : this.deps.hostEnv; // an image has its own environment (AG-232)
    return new TaskEnv({ alloc, job, task, node: node(), region, paths, hostEnv, added, network: network?.status });
  }

  private get isolation(): FileIsolation {
    return this.driver.isolation ?? 'none';
  }

  private taskAbout({ alloc, job }: WantedTask): TaskAbout {
    const { ID: nodeId, Name: nodeName } = this.deps.node();
    return {
      group: alloc.TaskGroup,
      jobId: job.ID,
      jobName: job.Name,
      parentJobId: job.ParentID,
      namespace: alloc.Namespace,
      nodeId,
      nodeName,
    };
  }

  /** Returns the directories of a task as its processes see them (AG-221). */
  private pathsInTask(paths: TaskPaths): TaskPaths {
    return this.isolation === 'none' ? paths : { ...paths, ...INSIDE };
  }

  /** Returns what the scheduler and the group's network assign to a task. */
  private assignedTo(
    wanted: WantedTask,
    paths: TaskPaths,
  ): Pick<TaskConfig, 'resources' | 'ports' | 'ownPorts' | 'dns' | 'networkMode' | 'network'> {
    const { alloc, job, task, network } = wanted;
    const { Tasks, Shared } = alloc.AllocatedResources;
    const given = Tasks[task.Name];
    const ofGroup = findTaskGroup(job, alloc.TaskGroup)?.Networks?.[0];
    const own = ofGroup?.DNS && (this.envOf(wanted, paths).interpolateAll(ofGroup.DNS) as DNSConfig);
    const dns = own ?? network?.status?.DNS;
    const ownNetwork = given?.Networks?.[0];
    return {
      ...(given && {
        resources: {
          cpuShares: given.Cpu.CpuShares,
          ...((given.Cpu.ReservedCores?.length ?? 0) > 0 && { cores: given.Cpu.ReservedCores ?? [] }),
          memoryMB: given.Memory.MemoryMB,
          memoryMaxMB: given.Memory.MemoryMaxMB,
        },
      }),
      ports: (Shared.Ports ?? []).map(({ Label, HostIP, Value, To }) => ({
        label: Label,
        hostIp: HostIP,
        hostPort: Value,
        to: To,
      })),
      ...(ownNetwork && {
        ownPorts: portsOfNetwork(ownNetwork).map(({ Label, Value, To }) => ({
          label: Label,
          hostIp: ownNetwork.IP,
          hostPort: Value,
          to: To,
        })),
      }),
      ...(ofGroup && { networkMode: ofGroup.Mode }),
      ...(network && { network }),
      ...(dns && { dns: { servers: dns.Servers ?? [], searches: dns.Searches ?? [], options: dns.Options ?? [] } }),
    };
  }
}

function memoized<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
