import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { LogConfig } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { CollectorProcess } from './collector-process.js';
import { FIFO_SUFFIX, LogCollector, ORDER_SUFFIX } from './log-collector.js';
import { logBase, type LogType } from './log-file-names.js';
import type { RotatingLogSpec } from './rotating-log.js';

const run = promisify(execFile);

/** AG-245: how long the end of a task waits for its output to be in the files. A process that fled its group may hold it open. */
export const DRAIN_TIMEOUT_MS = 2_000;
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

/** What a task's output is written to, until the supervisor has it. */
export interface OpenOutput {
  readonly stdout: number;
  readonly stderr: number;
  /** Closes our descriptors: the task's supervisor has its own. */
  release(): void;
}

/**
 * The agent's side of log collection: makes the FIFOs of a task and tells the collector of them.
 * The collector is a process of its own, which survives the agent; where tasks must not outlive the agent, it is part
 * of this process, and one process less.
 */
export class TaskOutputs {
  private readonly collector: CollectorProcess | LogCollector;

  constructor(
    private readonly dir: string,
    dieWithAgent: boolean,
    logger: Logger,
  ) {
    this.collector = dieWithAgent ? new LogCollector(dir, logger) : new CollectorProcess(dir, logger);
  }

  async start(): Promise<void> {
    mkdirSync(this.dir, { recursive: true });
    await this.collector.start();
  }

  async stop(): Promise<void> {
    await this.collector.stop();
  }

  /** @param id unique per start of a task */
  async open(id: string, stdout: RotatingLogSpec, stderr: RotatingLogSpec): Promise<OpenOutput> {
    const fifos = this.fifosOf(id);
    await run('mkfifo', ['-m', '600', ...fifos]);
    // Open for both directions: a pipe without reader would kill the writer, and without writer would be at its end.
    const fds = fifos.map((fifo) => openSync(fifo, constants.O_RDWR));
    const [out, err] = fds as [number, number];
    this.order(`${id}.stdout`, stdout);
    this.order(`${id}.stderr`, stderr);
    await this.collector.scan();
    return { stdout: out, stderr: err, release: () => fds.forEach((fd) => closeSync(fd)) };
  }

  /** Resolves when all output of this start is in its files, or after DRAIN_TIMEOUT_MS. */
  async drained(id: string): Promise<void> {
    const fifos = this.fifosOf(id);
    const deadline = Date.now() + DRAIN_TIMEOUT_MS;
    while (fifos.some((fifo) => existsSync(fifo)) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
  }

  private fifosOf(id: string): string[] {
    return ['stdout', 'stderr'].map((type) => path.join(this.dir, `${id}.${type}${FIFO_SUFFIX}`));
  }

  private order(name: string, spec: RotatingLogSpec): void {
    const file = path.join(this.dir, name + ORDER_SUFFIX);
    writeFileSync(`${file}.new`, JSON.stringify(spec));
    renameSync(`${file}.new`, file);
  }
}
