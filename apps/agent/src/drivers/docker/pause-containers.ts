import type Docker from 'dockerode';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  type Namespace,
  NamespaceUnknownError,
  type NetworkNamespaces,
} from '../../networks/network-namespaces.store.js';
import type { TaskNetwork } from '../../networks/task-network.js';
import { StartError } from '../driver.js';
import { AGENT_LABEL, ALLOC_LABEL, TASK_LABEL } from './container-options.js';
import { isAway, reasonOf, undefinedIfMissing } from './engine.transport.js';
import type { Images } from './images.js';
import { PAUSE_CHANGES, PAUSE_IMAGE, pauseFileSystem, pauseProgram } from './pause-image.js';

/** The time limit in milliseconds for one request to the engine. A slower engine would delay other networks (NW-45). */
const REQUEST_TIMEOUT_MS = 30_000;

export interface PauseContainersOptions {
  readonly engine: () => Promise<Docker>;
  readonly images: Images;
  /** The image of pause containers. If it is empty, the agent makes one, which needs no registry. */
  readonly image: string;
  readonly pullTimeoutMs: number;
  /** The name of the agent, as in DockerOptions. */
  readonly agent: string;
  /** The architecture, as in `process.arch`. */
  readonly arch: string;
}

/**
 * PauseContainers keeps network namespaces open with pause containers (NW-34). An engine lets a container join the
 * network of another container, but not a namespace by its path. The pause container has only the loopback interface,
 * and CNI adds the rest. It survives a restart of the agent, which finds it by its name.
 *
 * A container that the engine or a person starts again has a new namespace under another path, without the
 * configuration of CNI. The path therefore identifies a namespace, and a task that would join another one does not
 * start. Cost of a new namespace: three requests to the engine. Memory: one entry per namespace.
 */
export class PauseContainers implements NetworkNamespaces {
  /** The engine enables the loopback interface in each container without a network. */
  readonly raisesLoopback = true;
  private readonly held = new Set<string>();
  private making: Promise<void> | undefined;

  constructor(private readonly options: PauseContainersOptions) {}

  /**
   * Says whether a container belongs to an allocation whose namespace exists.
   * @param taskId the label of the container
   */
  isHeld(taskId: string): boolean {
    return this.held.has(taskId);
  }

  async find(allocId: string): Promise<Namespace | undefined> {
    try {
      const found = await this.inspectContainer(allocId);
      if (!found?.State.Running || found.NetworkSettings.SandboxKey === '') return undefined;
      this.held.add(useOf(allocId));
      this.options.images.markUsed(useOf(allocId), found.Image);
      return { path: found.NetworkSettings.SandboxKey, sandbox: { container: found.Id } };
    } catch (error) {
      throw isAway(error) ? new NamespaceUnknownError(reasonOf(error), { cause: error }) : error;
    }
  }

  /** Provides the image. @throws StartError, NoPauseProgramError */
  async provide(allocId: string): Promise<void> {
    const { image, images, pullTimeoutMs } = this.options;
    if (image === '') await (this.making ??= this.makeImage().finally(() => (this.making = undefined)));
    const isNewest =
      image !== '' && (image.endsWith(':latest') || !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1)));
    const wish = { image: image || PAUSE_IMAGE, force: isNewest, credentials: undefined, timeoutMs: pullTimeoutMs };
    await images.provideImage(useOf(allocId), wish, () => {});
  }

  async make(allocId: string, hostname: string): Promise<Namespace> {
    this.held.add(useOf(allocId));
    await this.removeContainer(allocId);
    const engine = await this.options.engine();
    const container = await engine.createContainer({
      abortSignal: requestTimeout(),
      name: nameOf(allocId),
      Image: this.options.image || PAUSE_IMAGE,
      ...(hostname !== '' && { Hostname: hostname }),
      Labels: { [ALLOC_LABEL]: allocId, [TASK_LABEL]: useOf(allocId), [AGENT_LABEL]: this.options.agent },
      HostConfig: {
        NetworkMode: 'none',
        RestartPolicy: { Name: 'unless-stopped' },
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        LogConfig: { Type: 'none', Config: {} },
      },
    });
    await container.start({ abortSignal: requestTimeout() });
    const made = await this.find(allocId);
    if (!made) throw new Error(`the pause container ${nameOf(allocId)} ended at once`);
    return made;
  }

  async remove(allocId: string): Promise<void> {
    await this.removeContainer(allocId);
    this.held.delete(useOf(allocId));
    this.options.images.releaseImage(useOf(allocId));
  }

  /**
   * Returns the container that a task joins. It must hold the namespace that CNI has configured.
   * @throws StartError if it is gone: only a new allocation gets a new namespace (NW-144)
   */
  async containerToJoin(allocId: string, { namespace }: TaskNetwork): Promise<string> {
    const found = await this.find(allocId);
    if (found?.sandbox && found.path === namespace) return found.sandbox.container;
    const name = nameOf(allocId);
    const what = found ? 'was started again, in a new namespace without a network' : 'is gone';
    throw new StartError(`the pause container ${name}, which holds the network of the allocation, ${what}`);
  }

  /**
   * Removes the container only if it has the allocation's label. The name alone does not prove that the agent made it.
   */
  private async removeContainer(allocId: string): Promise<void> {
    const found = await this.inspectContainer(allocId);
    if (found?.Config.Labels[ALLOC_LABEL] !== allocId) return;
    const container = (await this.options.engine()).getContainer(found.Id);
    await undefinedIfMissing(container.remove({ force: true, v: true, abortSignal: requestTimeout() }));
  }

  private async inspectContainer(allocId: string): Promise<Docker.ContainerInspectInfo | undefined> {
    const container = (await this.options.engine()).getContainer(nameOf(allocId));
    return undefinedIfMissing(container.inspect({ abortSignal: requestTimeout() }));
  }

  private async makeImage(): Promise<void> {
    const engine = await this.options.engine();
    if (await undefinedIfMissing(engine.getImage(PAUSE_IMAGE).inspect())) return;
    const { arch } = this.options;
    const program = pauseProgram(arch);
    if (!program) throw new NoPauseProgramError(arch);
    const [repo, tag] = PAUSE_IMAGE.split(':');
    const archive = Readable.from([pauseFileSystem(program)]);
    const answer = await engine.importImage(archive, {
      repo,
      tag,
      changes: PAUSE_CHANGES,
      abortSignal: requestTimeout(),
    });
    answer.resume();
    await finished(answer);
  }
}

/** NoPauseProgramError says that the agent has no program for pause containers of this architecture. */
export class NoPauseProgramError extends Error {
  override readonly name = 'NoPauseProgramError';
  constructor(arch: string) {
    super(`there is no pause image for ${arch}: name one in WAYBILL_DOCKER_INFRA_IMAGE`);
  }
}

const nameOf = (allocId: string): string => `nomad_init_${allocId}`;
/** Returns the id under which a pause container and its image count among those of tasks. */
const useOf = (allocId: string): string => `${allocId}/pause`;
const requestTimeout = (): AbortSignal => AbortSignal.timeout(REQUEST_TIMEOUT_MS);
