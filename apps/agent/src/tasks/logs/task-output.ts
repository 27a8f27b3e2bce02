import { closeSync, constants, existsSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { LogConfig } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { CollectorProcess } from './collector-process.js';
import type { ContainerLogOrder } from './container-log.js';
import { CONTAINER_SUFFIX, FIFO_SUFFIX, LogCollector, makeCollectDirectory, ORDER_SUFFIX } from './log-collector.js';
import { logBase, type LogType } from './log-file-names.js';
import { bytesEverWritten } from './log-parts.js';
import { RotatingLog, type RotatingLogSpec } from './rotating-log.js';
import { SpareFifos } from './spare-fifos.js';
import { below, pathName } from '../../paths/path-name.js';

/**
 * The longest wait in milliseconds, at the end of a task, until its output is in the files (AG-245). A process that
 * left the task's process group may keep the output open.
 */
export const DRAIN_TIMEOUT_MS = 2_000;
/**
 * The longest wait in milliseconds, at the end of a container, for the next output of it from the engine. The engine
 * may be busy with other containers, and its copy is lost with the container.
 */
export const COPY_TIMEOUT_MS = 10_000;
const DRAIN_LOOK_MS = 10;
const MB = 1024 * 1024;

export function logSpec(logsDir: string, task: string, type: LogType, config: LogConfig): RotatingLogSpec {
  return {
    dir: logsDir,
    base: logBase(task, type),
    maxFiles: Math.max(config.MaxFiles, 1),
    maxFileBytes: Math.max(config.MaxFileSizeMB, 1) * MB,
  };
}

/** OpenOutput holds the descriptors of a task's output until the supervisor has them. */
export interface OpenOutput {
  readonly stdout: number;
  readonly stderr: number;
  /** The paths at which another process may open them. */
  readonly pipes: { readonly stdout: string; readonly stderr: string };
  /** Closes the agent's descriptors. The task's supervisor has its own. */
  release(): void;
}

/**
 * TaskOutputs is the agent's side of log collection. It makes the FIFOs of a task and tells the collector of them. The
 * collector is a separate process, which survives the agent. If the agent stops its tasks at its end, the collector is
 * part of this process instead. If such an agent is killed, the pipes hold the output of its tasks, 64 KiB each, until
 * the next agent reads on.
 */
export class TaskOutputs {
  private readonly collector: CollectorProcess | LogCollector;
  private readonly fifos: SpareFifos;

  constructor(
    private readonly dir: string,
    isInProcess: boolean,
    logger: Logger,
  ) {
    this.fifos = new SpareFifos(dir);
    this.collector = isInProcess ? new LogCollector(dir, logger) : new CollectorProcess(dir, logger);
  }

  async start(): Promise<void> {
    makeCollectDirectory(this.dir);
    await this.fifos.start();
    await this.collector.start();
  }

  async stop(): Promise<void> {
    await this.collector.stop();
  }

  /** Opens the output of one start of a task. @param id unique per start */
  async open(id: string, stdout: RotatingLogSpec, stderr: RotatingLogSpec): Promise<OpenOutput> {
    for (const fifo of this.fifosOf(id)) await this.fifos.placeFifo(fifo);
    return this.openFifos(id, stdout, stderr);
  }

  /**
   * Opens the output of a task of an earlier agent. What its collector reads goes on; an output that has ended begins
   * anew, and is appended to the files.
   */
  async reopen(id: string, stdout: RotatingLogSpec, stderr: RotatingLogSpec): Promise<OpenOutput> {
    for (const fifo of this.fifosOf(id)) if (!existsSync(fifo)) await this.fifos.placeFifo(fifo);
    return this.openFifos(id, stdout, stderr);
  }

  private async openFifos(id: string, stdout: RotatingLogSpec, stderr: RotatingLogSpec): Promise<OpenOutput> {
    const fifos = this.fifosOf(id);
    // The FIFOs are open in both directions, because a pipe without a reader would kill the writer, and one without a
    // writer would be at its end.
    const fds = fifos.map((fifo) => openSync(fifo, constants.O_RDWR));
    const [out, err] = fds as [number, number];
    const release = (): void => fds.forEach((fd) => closeSync(fd));
    try {
      await createFirstFiles(stdout, stderr);
      this.writeOrder(`${id}.stdout`, ORDER_SUFFIX, stdout);
      this.writeOrder(`${id}.stderr`, ORDER_SUFFIX, stderr);
      await this.collector.scan();
    } catch (error) {
      release(); // on a full disk, attempts to start a task may continue for days
      throw error;
    }
    const [outPath = '', errPath = ''] = fifos;
    return { stdout: out, stderr: err, pipes: { stdout: outPath, stderr: errPath }, release };
  }

  /** Copies a container's output from the engine to the files of its task. Call it before the container starts. */
  async followContainer(id: string, order: Omit<ContainerLogOrder, 'before'>): Promise<void> {
    const { stdout, stderr } = order.files;
    await createFirstFiles(stdout, stderr);
    const before = { stdout: await bytesEverWritten(stdout), stderr: await bytesEverWritten(stderr) };
    this.writeOrder(id, CONTAINER_SUFFIX, { ...order, before });
  }

  /** Resolves when all output of this start is in its files, or after DRAIN_TIMEOUT_MS. */
  async awaitDrained(id: string): Promise<void> {
    const deadline = performance.now() + DRAIN_TIMEOUT_MS;
    while (this.fifosOf(id).some((fifo) => existsSync(fifo)) && performance.now() < deadline) await awaitNextLook();
  }

  /**
   * Resolves when all output of an ended container is in its files. The engine still holds all of it, so this waits
   * until it is copied, or until nothing was copied for COPY_TIMEOUT_MS.
   */
  async awaitCopied(id: string): Promise<void> {
    const entry = below(this.dir, pathName(id + CONTAINER_SUFFIX, 'the run'));
    const files = await readFile(entry, 'utf8').then(
      (text) => Object.values((JSON.parse(text) as ContainerLogOrder).files),
      () => [],
    );
    const bytesWritten = async () => String(await Promise.all(files.map((file) => bytesEverWritten(file))));
    let last = await bytesWritten();
    let deadline = performance.now() + COPY_TIMEOUT_MS;
    for (; existsSync(entry) && performance.now() < deadline; await awaitNextLook()) {
      const now = await bytesWritten();
      if (now !== last) deadline = performance.now() + COPY_TIMEOUT_MS;
      last = now;
    }
  }

  private fifosOf(id: string): string[] {
    return ['stdout', 'stderr'].map((type) => below(this.dir, pathName(`${id}.${type}${FIFO_SUFFIX}`, 'the run')));
  }

  private writeOrder(name: string, suffix: string, order: RotatingLogSpec | ContainerLogOrder): void {
    const file = below(this.dir, pathName(name + suffix, 'the run'));
    writeFileSync(`${file}.new`, JSON.stringify(order));
    renameSync(`${file}.new`, file);
  }
}

/** Makes the files of a task's output before its first output. */
async function createFirstFiles(...specs: readonly RotatingLogSpec[]): Promise<void> {
  for (const spec of specs) {
    const log = new RotatingLog(spec);
    await log.createFirstFile();
    await log.close();
  }
}

const awaitNextLook = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
