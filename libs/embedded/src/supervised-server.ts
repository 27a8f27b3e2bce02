import { setTimeout as delay } from 'node:timers/promises';
import { explainFailure } from './explain-failure.js';
import { assertDiskSpace } from './disk-space.js';
import { DiskWatch } from './disk-watch.js';
import { DiskFullError, ServerFailedError } from './failures.js';
import { failuresAfter, restartDelayMs } from './restart-backoff.js';
import { beginServerLog, serverLogSince } from './server-log.js';
import { SupervisedProcess, type ProcessSpec } from './supervised-process.js';

/** UnexpectedExit is the end of a run that nobody requested. */
export interface UnexpectedExit {
  readonly server: string;
  readonly error: Error;
  /** The milliseconds until the server is started again. It is undefined if it will not be. */
  readonly restartInMs: number | undefined;
}

export interface ServerSpec {
  readonly server: string;
  readonly port: number;
  readonly dir: string;
  readonly process: ProcessSpec;
  readonly readyTimeoutMs: number;
  /** Clears what an earlier run left, before every run. */
  readonly prepare: () => Promise<void>;
  /** Checks once whether the server answers. It rejects or resolves with false while the server doesn't. */
  readonly isReady: () => Promise<boolean>;
  readonly restart: boolean;
  /** Says whether a full disk breaks the server for good. With `restart` it is then restarted when there is room. */
  readonly brokenByFullDisk: boolean;
  readonly onExit: (exit: UnexpectedExit) => void;
  readonly onDiskFull: (error: DiskFullError) => void;
  readonly log: (line: string) => void;
}

const READY_POLL_MS = 10;
/** The time in milliseconds for which a start is repeated while the predecessor is still ending. */
const TRANSIENT_RETRY_MS = 10_000;
const TRANSIENT_PAUSE_MS = 100;

/**
 * A server that is kept running.
 *
 *   new ── start ──► running ── stop ──► stopped
 *                     │   ▲
 *          (run ends) ▼   │ (ready again)
 *                   restarting ── stop ──► stopped
 *
 * `start` fails with a named error and leaves nothing behind. Later endings are reported through `onExit`; with `restart`
 * the server comes back on the same port, after a pause that grows from 100 ms to 5 s, as often as it takes. A launcher
 * wants that; a test that wants to see the loss does not. A full disk is reported through `onDiskFull` and is not an ending;
 * a server that can't recover from it by itself is restarted once there is room. Holds at most one process and two timers.
 */
export class SupervisedServer {
  private run: SupervisedProcess | undefined;
  private runStartedMs = 0;
  private logOffset = 0;
  private failures = 0;
  private readonly stopping = new AbortController();
  private restarting: Promise<void> = Promise.resolve();

  constructor(private readonly spec: ServerSpec) {}

  /** The process ID of the current run. While restarting it is that of the last run. */
  get pid(): number {
    return this.run?.pid ?? 0;
  }

  /** Resolves when the server answers. Throws the named error for its failure. */
  async start(): Promise<void> {
    const deadlineMs = performance.now() + TRANSIENT_RETRY_MS;
    for (;;)
      try {
        await this.launch();
        return;
      } catch (error) {
        const again = error instanceof ServerFailedError && error.transient && performance.now() < deadlineMs;
        if (!again) throw error;
        await delay(TRANSIENT_PAUSE_MS);
      }
  }

  /** Ends the server in order. The call may be repeated, and may come during a restart. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.run?.stop();
    await this.restarting;
  }

  private async launch(): Promise<void> {
    await this.spec.prepare();
    await assertDiskSpace(this.spec.dir);
    this.stopping.signal.throwIfAborted();
    this.logOffset = beginServerLog(this.spec.process.logFile);
    this.runStartedMs = performance.now();
    const run = await SupervisedProcess.start(this.spec.process);
    this.run = run;
    if (this.stopping.signal.aborted) await run.stop();
    await this.becomeReady(run);
    void this.watchOver(run);
  }

  private async becomeReady(run: SupervisedProcess): Promise<void> {
    const deadlineMs = performance.now() + this.spec.readyTimeoutMs;
    while (!run.isOver) {
      if (await this.spec.isReady().catch(() => false)) return;
      if (performance.now() > deadlineMs) {
        await run.stop();
        throw this.failure(`not ready after ${this.spec.readyTimeoutMs / 1000} s`);
      }
      await delay(READY_POLL_MS);
    }
    const ending = await run.ended;
    await run.stop(); // what watched it is gone, too
    throw this.failure(ending);
  }

  private async watchOver(run: SupervisedProcess): Promise<void> {
    const disk = this.watchDisk(run);
    const ending = await run.ended;
    disk.stop();
    if (!this.stopping.signal.aborted) this.onEnded(ending);
  }

  private watchDisk(run: SupervisedProcess): DiskWatch {
    const { dir, log, onDiskFull, restart, brokenByFullDisk, server } = this.spec;
    return new DiskWatch({
      dir,
      logFile: this.spec.process.logFile,
      logOffset: this.logOffset,
      onFull: (full) => {
        const error = new DiskFullError(full);
        log(`${server}: ${error.message}`);
        onDiskFull(error);
      },
      onRoom: () => {
        log(`${server}: there is room on the disk again`);
        if (restart && brokenByFullDisk) void run.stop();
      },
    });
  }

  private onEnded(ending: string): void {
    this.failures = failuresAfter(this.failures, performance.now() - this.runStartedMs);
    const error = this.failure(ending);
    const restartInMs = this.spec.restart ? restartDelayMs(this.failures) : undefined;
    this.spec.onExit({ server: this.spec.server, error, restartInMs });
    if (restartInMs !== undefined) this.restarting = this.comeBack(error, restartInMs);
  }

  private async comeBack(error: Error, firstDelayMs: number): Promise<void> {
    let reason = error.message;
    let told: string | undefined;
    for (let pauseMs = firstDelayMs; !this.stopping.signal.aborted; pauseMs = restartDelayMs(++this.failures))
      try {
        if (reason !== told) this.spec.log(`${reason}; starting it again`);
        told = reason;
        await delay(pauseMs, undefined, { signal: this.stopping.signal });
        await this.launch();
        this.spec.log(`${this.spec.server} is back`);
        return;
      } catch (failed) {
        reason = failed instanceof Error ? failed.message : String(failed);
      }
  }

  private failure(ending: string): Error {
    const { server, port, dir } = this.spec;
    const logFile = this.spec.process.logFile;
    return explainFailure({ server, port, dir, logFile, ending, output: serverLogSince(logFile, this.logOffset) });
  }
}
