import type Docker from 'dockerode';
import { z } from 'zod';
import { parseDuration, type Clock, type Timers } from '@waybill/model';
import type { TaskResourceUsage } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { ExecCommand, ExecSession } from '../../tasks/exec/exec-session.js';
import { logSpec, type TaskOutputs } from '../../tasks/logs/task-output.js';
import {
  type Driver,
  type DriverFingerprint,
  type DriverNetwork,
  type ExitResult,
  StartCancelledError,
  StartError,
  type TaskConfig,
  TaskConfigError,
  type TaskHandle,
  TaskNotFoundError,
} from '../driver.js';
import { killSignal, signalOfCode, signalOrInterrupt } from '../task-signal.js';
import { pause, settlesWithin } from '../waiting.js';
import { execInContainer } from './container-exec.js';
import {
  ALLOC_LABEL,
  checkPolicy,
  containerName,
  containerOptions,
  isInGroupNetwork,
  type DockerPolicy,
  portsInside,
  TASK_LABEL,
} from './container-options.js';
import { containerUsage, NO_SAMPLE, type UsageSample } from './container-usage.js';
import type { DockerConfig } from '@waybill/plugins';
import { dockerConfig } from '../task-config.js';
import { engineAttributes } from './engine-attributes.js';
import {
  engineAt,
  isAway,
  isMissing,
  isUnreachable,
  reasonOf,
  ignoreEnded,
  undefinedIfMissing,
} from './engine.transport.js';
import { imagesOf, loadInto } from './image-source.transport.js';
import { Images, PULL_TIMEOUT_MS } from './images.js';
import { PauseContainers } from './pause-containers.js';
import { foundSources, networkFiles, openArchive, openDirectories } from './task-sources.js';
import { Strays } from './strays.js';

/** The interval in milliseconds between two requests to an engine that does not answer. */
const RETRY_MS = 1_000;
/** Longest time that a killed container may take to end (AG-252). */
const VANISH_TIMEOUT_MS = 15_000;

export interface DockerOptions {
  /** The address of the engine, see engineAt. */
  readonly endpoint: string;
  readonly policy: DockerPolicy;
  /** Whether images that no task uses any more are removed (AG-283). */
  readonly imageGc: boolean;
  /** The image of pause containers (NW-34). If it is empty, the agent makes one. */
  readonly infraImage: string;
  readonly infraImagePullTimeoutMs: number;
  /** The name of this agent. It distinguishes its containers from those of another agent on the same engine. */
  readonly agent: string;
  readonly outputs: Pick<TaskOutputs, 'followContainer' | 'awaitCopied'>;
  readonly mhzPerCore: number;
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

interface Running {
  readonly container: Docker.Container;
  readonly exit: Promise<ExitResult>;
  readonly network: DriverNetwork | null;
  usage: UsageSample;
  ended: boolean;
}

/**
 * DockerDriver runs tasks as containers of an engine (AG-281 to AG-285). The engine keeps them running. A restarted
 * agent therefore needs only a container's name and the label with the start of the task.
 *
 * States of a task: pulling → created → running → ended → destroyed. The engine reports the end. While it does not
 * answer, a task counts as running, and the driver asks again every RETRY_MS. Output goes through the agent's log
 * collector, which requests it from the engine and outlives the agent. States of the driver: undetected → healthy ⇄
 * unhealthy, depending on whether the engine answers. Cost: two open requests to the engine per task, one for its end
 * and one for its output.
 */
export class DockerDriver implements Driver {
  readonly name = 'docker';
  readonly mounts = 'bind';
  readonly isolation = 'image';
  readonly networkIsolation = ['host', 'group', 'task'] as const;
  readonly setsHostname = true;
  readonly namespaces: PauseContainers;
  private readonly tasks = new Map<string, Running>();
  private readonly images: Images;
  private connected: Promise<Docker> | undefined;
  private wasDetected = false;
  private readonly strays: Strays;

  constructor(private readonly options: DockerOptions) {
    const isKnown = (taskId: string): boolean => this.tasks.has(taskId) || this.namespaces.isHeld(taskId);
    this.strays = new Strays(options.agent, isKnown, options.monotonic);
    this.images = new Images(
      imagesOf(() => this.engineClient()),
      options.timers,
      options.imageGc,
    );
    this.namespaces = new PauseContainers({
      engine: () => this.engineClient(),
      images: this.images,
      image: options.infraImage,
      pullTimeoutMs: options.infraImagePullTimeoutMs,
      agent: options.agent,
      arch: process.arch,
    });
  }

  async fingerprint(): Promise<DriverFingerprint> {
    try {
      const engine = await this.engineClient();
      const attributes = await engineAttributes(engine, this.options.policy);
      this.wasDetected = true;
      await this.clearStrays(engine);
      return { health: 'healthy', description: 'Healthy', attributes };
    } catch (error) {
      const health = this.wasDetected ? 'unhealthy' : 'undetected';
      return { health, description: reasonOf(error), attributes: this.wasDetected ? { 'driver.docker': '1' } : {} };
    }
  }

  validate(task: TaskConfig): void {
    const config = dockerConfig(task.config);
    checkPolicy(config, this.options.policy);
    portsInside(config, task);
    pullTimeoutOf(config);
  }

  prepare(config: TaskConfig): TaskHandle {
    const state = { name: containerName(config), ports: portsInside(dockerConfig(config.config), config) };
    return { driver: this.name, taskId: config.taskId, startedAtMs: this.options.clock.nowMs(), state };
  }

  async start(
    task: TaskConfig,
    handle: TaskHandle,
    tell: (message: string) => void = () => {},
    unwanted?: AbortSignal,
  ): Promise<void> {
    const { taskId } = handle;
    const { policy, agent, mhzPerCore } = this.options;
    const config = dockerConfig(task.config);
    try {
      const wish = {
        image: config.image,
        force: config.force_pull,
        credentials: config.auth && { ...config.auth, serveraddress: config.auth.server_address },
        timeoutMs: pullTimeoutOf(config),
        ...(unwanted && { unwanted }),
        ...(config.load !== '' && { load: () => this.loadImage(task, config.load) }),
      };
      await this.images.provideImage(taskId, wish, tell);
      await openDirectories(task);
      const order = { task, config, policy, agent, mhzPerCore, ...(await this.placeInNetwork(task, config)) };
      const options = containerOptions(order, await foundSources(task, config));
      await this.removeStale(containerName(task));
      const container = await (await this.engineClient()).createContainer(options);
      if (!task.logs.Disabled) await this.followOutput(task, handle, container, config);
      await container.start();
      await this.trackContainer(handle, container);
    } catch (error) {
      this.images.releaseImage(taskId);
      if ([StartError, StartCancelledError, TaskConfigError].some((known) => error instanceof known)) throw error;
      throw new StartError(reasonOf(error), isUnreachable(error));
    }
  }

  async recover(handle: TaskHandle): Promise<boolean> {
    if (this.tasks.has(handle.taskId)) return true;
    const container = await this.retryWhileAway(() => this.containerOf(handle));
    if (!container) return false;
    const { State, Image } = await this.retryWhileAway(() => container.inspect());
    if (State.Status === 'created') return false; // the agent ended after it created the container and before it started the container
    this.images.markUsed(handle.taskId, Image);
    await this.trackContainer(handle, container);
    return true;
  }

  async wait(taskId: string): Promise<ExitResult> {
    return this.running(taskId).exit;
  }

  /**
   * Sends the task's kill signal if it has one, otherwise lets the engine stop the container with the timeout (AG-284).
   */
  async stop(taskId: string, timeoutMs: number, signal: string): Promise<void> {
    const task = this.running(taskId);
    if (task.ended) return;
    const known = signal === '' ? undefined : killSignal(signal);
    if (timeoutMs <= 0) await ignoreEnded(task.container.kill());
    else if (!known) await ignoreEnded(task.container.stop({ t: Math.ceil(timeoutMs / 1_000) }));
    else {
      await ignoreEnded(task.container.kill({ signal: known }));
      if (!(await settlesWithin(task.exit, timeoutMs))) await ignoreEnded(task.container.kill());
    }
    if (!(await settlesWithin(task.exit, VANISH_TIMEOUT_MS)))
      throw new Error(`the container did not exit after ${VANISH_TIMEOUT_MS / 1_000} seconds`);
  }

  async signal(taskId: string, signal: string): Promise<void> {
    const { container } = this.running(taskId);
    await ignoreEnded(container.kill({ signal: signalOrInterrupt(signal) }));
  }

  async exec(taskId: string, config: TaskConfig, command: ExecCommand): Promise<ExecSession> {
    const { container } = this.running(taskId);
    try {
      return await execInContainer(container, command, config.env);
    } catch (error) {
      throw new Error(reasonOf(error), { cause: error });
    }
  }

  network(taskId: string): DriverNetwork | null {
    return this.tasks.get(taskId)?.network ?? null;
  }

  async stats(taskId: string): Promise<TaskResourceUsage> {
    const task = this.running(taskId);
    const stats = await task.container.stats({ stream: false, 'one-shot': true });
    const nowMs = this.options.clock.nowMs();
    const { usage, sample } = containerUsage(stats, task.usage, nowMs, this.options.mhzPerCore);
    task.usage = sample;
    return usage;
  }

  async destroy(handle: TaskHandle, force: boolean): Promise<void> {
    const { taskId } = handle;
    const task = this.tasks.get(taskId);
    if (task && !task.ended && !force) throw new Error('cannot destroy running task');
    const container = task?.container ?? (await this.containerOf(handle));
    if (container) await undefinedIfMissing(container.remove({ force: true, v: true }));
    this.tasks.delete(taskId);
    this.images.releaseImage(taskId);
  }

  /** Loads the images of an archive in the task's local directory into the engine. @throws StartError */
  private async loadImage(task: TaskConfig, archive: string): Promise<void> {
    const failure = (error: unknown, isTransient: boolean) =>
      new StartError(`failed to load "${archive}": ${reasonOf(error)}`, isTransient);
    const file = await openArchive(task, archive).catch((error: unknown) => {
      throw failure(error, false);
    });
    try {
      await loadInto(await this.engineClient(), file.createReadStream({ autoClose: false }));
    } catch (error) {
      throw failure(error, isAway(error));
    } finally {
      await file.close();
    }
  }

  private async clearStrays(engine: Docker): Promise<void> {
    const strays = await this.strays.remove(engine);
    if (strays.length > 0)
      this.options.logger.warn('containers of this agent that no task is were removed', { strays });
  }

  /**
   * Returns the container that a task in its group's namespace joins instead of a network of its own, and the task's
   * network files (NW-35, NW-92).
   */
  private async placeInNetwork(task: TaskConfig, config: DockerConfig) {
    if (!task.network || !isInGroupNetwork(task, config)) return {};
    const joins = await this.namespaces.containerToJoin(task.allocId, task.network);
    return { joins, files: await networkFiles(task, config, { network: task.network, container: joins }) };
  }

  /** Returns the client of the engine. It is made once, because it keeps no connection that could break. */
  private engineClient(): Promise<Docker> {
    this.connected ??= engineAt(this.options.endpoint);
    return this.connected;
  }

  /** Returns the container of exactly this start of the task, or undefined if there is none. */
  private async containerOf({ state, taskId }: TaskHandle): Promise<Docker.Container | undefined> {
    const engine = await this.engineClient();
    try {
      const { Id, Config } = await engine.getContainer(String(state['name'])).inspect();
      return Config.Labels[TASK_LABEL] === taskId ? engine.getContainer(Id) : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Removes an agent's container of an earlier start. Another program's container stays and keeps the name (AG-283). */
  private async removeStale(name: string): Promise<void> {
    const container = (await this.engineClient()).getContainer(name);
    const found = await undefinedIfMissing(container.inspect());
    if (found?.Config.Labels[ALLOC_LABEL]) await undefinedIfMissing(container.remove({ force: true, v: true }));
  }

  private async followOutput(task: TaskConfig, handle: TaskHandle, container: Docker.Container, { tty }: DockerConfig) {
    const { endpoint, outputs } = this.options;
    const spec = (type: 'stdout' | 'stderr') => logSpec(task.paths.logsDir, task.task, type, task.logs);
    const files = { stdout: spec('stdout'), stderr: spec('stderr') };
    await outputs.followContainer(outputId(handle), { endpoint, container: container.id, tty, files });
  }

  private async trackContainer(handle: TaskHandle, container: Docker.Container): Promise<void> {
    const { NetworkSettings } = await container.inspect();
    const ip = Object.values(NetworkSettings.Networks ?? {}).find(({ IPAddress }) => IPAddress !== '')?.IPAddress;
    const exit = this.exitOf(handle, container);
    const portMap = portsOfHandle.parse(handle.state['ports']);
    const network = ip === undefined ? null : { ip, portMap, autoAdvertise: false };
    const task: Running = { container, exit, network, usage: NO_SAMPLE(handle.startedAtMs), ended: false };
    this.tasks.set(handle.taskId, task);
    const markEnded = (): void => void (task.ended = true);
    exit.then(markEnded, markEnded); // callers of `wait` get the error
  }

  private async exitOf(handle: TaskHandle, container: Docker.Container): Promise<ExitResult> {
    const result = await this.retryWhileAway(async () => {
      try {
        await container.wait();
        const { ExitCode, OOMKilled, Error: Err } = (await container.inspect()).State;
        return { ExitCode, Signal: signalOfCode(ExitCode), OOMKilled, Err };
      } catch (error) {
        if (isMissing(error)) return REMOVED;
        throw error;
      }
    });
    await this.options.outputs.awaitCopied(outputId(handle));
    return result;
  }

  /** Repeats a request while the engine is away. @throws the engine's own errors */
  private async retryWhileAway<T>(ask: () => Promise<T>): Promise<T> {
    for (let hasTold = false; ; hasTold = true) {
      try {
        return await ask();
      } catch (error) {
        if (!isAway(error)) throw error;
        if (!hasTold) this.options.logger.warn('the container engine does not answer; asking again', { error });
        await pause(RETRY_MS);
      }
    }
  }

  private running(taskId: string): Running {
    const task = this.tasks.get(taskId);
    if (!task) throw new TaskNotFoundError(taskId);
    return task;
  }
}

const REMOVED: ExitResult = {
  ExitCode: 137,
  Signal: 0,
  OOMKilled: false,
  Err: 'the container was removed by somebody',
};
/** The ports inside a container by label. Handles of older agents have none. */
const portsOfHandle = z.record(z.string(), z.number()).catch({});

/** @throws TaskConfigError */
function pullTimeoutOf({ image_pull_timeout: text }: DockerConfig): number {
  if (text === undefined) return PULL_TIMEOUT_MS;
  const ns = parseDuration(text);
  if (ns === undefined || ns <= 0) throw new TaskConfigError(`docker: image_pull_timeout "${text}" is no duration`);
  return ns / 1e6;
}

/** Returns a file name for one start of a task. */
const outputId = ({ taskId }: TaskHandle): string => taskId.replaceAll(/[^A-Za-z0-9-]/g, '.');
