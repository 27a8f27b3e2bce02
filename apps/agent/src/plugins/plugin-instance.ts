import type { Clock, Timers } from '@waybill/model';
import { PluginError, PluginShutDownError, type PluginProcess, type PluginRecord } from '@waybill/plugins';
import type { Logger } from '@waybill/telemetry';
import { Gate, pause } from '../waiting/gate.js';

/** A plugin that ends sooner than this after its start has crashed at its start (PG-78). */
export const QUICK_DEATH_MS = 10_000;
/** After this many such crashes in a row, the next start has to wait. */
export const MAX_QUICK_DEATHS = 3;
const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 120_000;
/** The longest wait of a call for its plugin (PG-78). */
export const PATIENCE_MS = 5 * 60_000;

/** PluginUnavailableError says that a plugin cannot be started at the moment. */
export class PluginUnavailableError extends Error {
  override readonly name = 'PluginUnavailableError';
}

/** What happens to a process of a plugin (PG-125). */
export type PluginEvent = 'started' | 'reattached' | 'exited';

/** Records of running plugins on disk, by the name of the plugin. */
export interface PluginRecordKeeper {
  get(name: string): PluginRecord | undefined;
  put(name: string, record: PluginRecord): Promise<void>;
  remove(name: string): Promise<void>;
}

/** StartedPlugin is the part of a plugin's process that is looked after. */
export type StartedPlugin = Pick<PluginProcess, 'record' | 'exited' | 'end' | 'kill'> & {
  readonly connection: Pick<PluginProcess['connection'], 'isClosed'>;
};

export interface PluginInstanceDependencies<P extends StartedPlugin = PluginProcess> {
  readonly name: string;
  readonly isDriver: boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly records: PluginRecordKeeper;
  /** Starts and configures a new process. @throws the reason why it cannot be used */
  readonly launch: () => Promise<P>;
  /** Takes up the process of an earlier agent. @throws the reason why it cannot be used */
  readonly reattach: (record: PluginRecord) => Promise<P>;
  /** Is called when a process has ended by itself, with its status. */
  readonly onExit?: (status: string) => void;
  /** Counts what happens to the plugin's processes. */
  readonly count?: (event: PluginEvent) => void;
}

/**
 * PluginInstance keeps one process of a plugin, however many tasks it has (PG-31).
 *
 * stopped → starting → running → stopped, and closed at the end. A caller that needs the plugin starts it; callers that
 * come meanwhile get the same process. After MAX_QUICK_DEATHS crashes at the start in a row, a new start waits 5 s,
 * then twice as long each time, at most 2 minutes (PG-78). The first start takes up the process of an earlier agent if
 * it still answers (PG-72). Each process is on disk before it is used (PG-71). Cost: nothing while it runs.
 */
export class PluginInstance<P extends StartedPlugin = PluginProcess> {
  private current: P | undefined;
  private starting: Promise<P> | undefined;
  private mayReattach = true;
  private quickDeaths = 0;
  private readonly closed = new Gate();

  constructor(private readonly deps: PluginInstanceDependencies<P>) {}

  get isClosed(): boolean {
    return this.closed.isOpen;
  }

  /** Returns the running process, and starts it first if needed. @throws PluginUnavailableError, PluginShutDownError */
  async runningProcess(): Promise<P> {
    if (this.isClosed) throw new PluginShutDownError();
    if (this.current && !this.current.connection.isClosed) return this.current;
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    return this.withStartTimeout(this.starting);
  }

  /** Ends the process in order, for good (PG-11, PG-74). */
  async close(): Promise<void> {
    this.closed.open();
    const process = await (this.starting?.catch(() => undefined) ?? this.current);
    if (!process) return;
    await process.end(this.deps.isDriver);
    await this.deps.records.remove(this.deps.name);
  }

  private async start(): Promise<P> {
    for (;;) {
      await this.awaitRestartDelay();
      if (this.isClosed) throw new PluginShutDownError();
      try {
        return await this.trackProcess(await this.reattachOrLaunch());
      } catch (error) {
        if (this.isClosed) throw error;
        this.quickDeaths = Math.max(this.quickDeaths + 1, MAX_QUICK_DEATHS);
        this.deps.onExit?.(reasonOf(error));
        this.deps.logger.warn('a plugin cannot be started', { plugin: this.deps.name, error });
      }
    }
  }

  private async awaitRestartDelay(): Promise<void> {
    const over = this.quickDeaths - MAX_QUICK_DEATHS;
    if (over < 0) return;
    await pause(this.deps.timers, Math.min(FIRST_WAIT_MS * 2 ** over, MAX_WAIT_MS), this.closed);
  }

  private async reattachOrLaunch(): Promise<P> {
    const { name, records, launch, reattach, logger } = this.deps;
    const record = this.mayReattach ? records.get(name) : undefined;
    this.mayReattach = false;
    if (record) {
      try {
        const process = await reattach(record);
        this.deps.count?.('reattached');
        return process;
      } catch (error) {
        logger.warn('the plugin of an earlier agent cannot be taken up again', { plugin: name, error });
      }
    }
    const process = await launch();
    this.deps.count?.('started');
    return process;
  }

  private async trackProcess(process: P): Promise<P> {
    const { name, records, clock } = this.deps;
    await records.put(name, process.record);
    this.current = process;
    const startedMs = clock.nowMs();
    void process.exited.then((status) => this.handleExit(process, status, clock.nowMs() - startedMs));
    return process;
  }

  private async handleExit(process: P, status: string, livedMs: number): Promise<void> {
    if (this.current === process) this.current = undefined;
    if (this.isClosed) return;
    this.deps.count?.('exited');
    this.quickDeaths = livedMs < QUICK_DEATH_MS ? this.quickDeaths + 1 : 0;
    this.deps.logger.warn('a plugin has ended', { plugin: this.deps.name, status });
    this.deps.onExit?.(`plugin exited: ${status}`);
    await process.kill(); // removes what it left in the file system
  }

  private async withStartTimeout(starting: Promise<P>): Promise<P> {
    const got = new Gate();
    const late = pause(this.deps.timers, PATIENCE_MS, got, this.closed).then(() => undefined);
    try {
      const process = await Promise.race([starting, late]);
      if (process) return process;
    } finally {
      got.open();
    }
    if (this.isClosed) throw new PluginShutDownError();
    throw new PluginUnavailableError(`plugin "${this.deps.name}" cannot be started`);
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof PluginError
    ? `${error.method}: ${error.message}`
    : String(error instanceof Error ? error.message : error);
