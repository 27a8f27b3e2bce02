import type { CsiPlugin } from '@waybill/csi';
import {
  type CancelTimer,
  type CSIPluginConfig,
  formatDuration,
  msFromNs,
  type Timers,
  errorText,
} from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { PluginRegistry, PluginSide } from './plugin-registry.js';

/** Interval between probes of an unhealthy plugin (VL-207, VL-209). */
export const UNWELL_PROBE_INTERVAL_MS = 5_000;
/** Interval between probes of a healthy plugin (VL-209). */
export const PROBE_INTERVAL_MS = 30_000;
const NOT_RUNNING = 'the task of the plugin does not run';

export interface PluginSupervisorDependencies {
  readonly allocId: string;
  readonly config: CSIPluginConfig;
  readonly socketPath: string;
  readonly mountRoot: string;
  readonly pluginRoot: string;
  readonly registry: PluginRegistry;
  readonly connect: (socketPath: string) => CsiPlugin;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly emit: (type: string, details: Record<string, string>) => void;
  /** Puts the task down as one that failed; its policy decides what follows. */
  readonly fail: (reason: string) => void;
  /** At the end: what was made for the plugin goes. */
  readonly removeSocket: () => Promise<void>;
}

const SIDES: Readonly<Record<string, readonly PluginSide[]>> = {
  controller: ['controller'],
  node: ['node'],
  monolith: ['controller', 'node'],
};

/**
 * Looks after the plugin in one task (VL-207 to VL-210).
 *
 * idle → starting ⇄ idle, starting → watching → stopped. idle: the task does not run. starting: probed every
 * UNWELL_PROBE_INTERVAL_MS; well in time it is registered, else the task fails, and it is idle until that has come up
 * again. watching: probed every PROBE_INTERVAL_MS while it is well, else every UNWELL_PROBE_INTERVAL_MS, and at once when
 * the task has ended or started; a change of its health is an event and a look at what it offers. stopped: withdrawn, its socket gone. One loop and one timer at any time.
 */
export class PluginSupervisor {
  private mode: 'idle' | 'starting' | 'watching' | 'stopped' = 'idle';
  private readonly plugin: CsiPlugin;
  /** Of which time a probe that is under way tells. */
  private round = 0;
  private isTaskUp = false;
  private isHealthy = true;
  private lastProblem = '';
  private cancelProbe: CancelTimer = () => {};
  private cancelTimeout: CancelTimer = () => {};

  /** @throws SocketPathTooLongError */
  constructor(private readonly deps: PluginSupervisorDependencies) {
    this.plugin = deps.connect(deps.socketPath);
  }

  /** Told after each change of the task's state. */
  taskIs(up: boolean): void {
    if (up === this.isTaskUp) return;
    this.isTaskUp = up;
    if (this.mode === 'watching') this.probeAnew(up);
    if (!up && this.mode === 'starting') this.rest();
    if (up && this.mode === 'idle') this.begin();
  }

  /** The task is dead for good. */
  async stop(): Promise<void> {
    if (this.mode === 'stopped') return;
    this.close();
    await this.deps.registry.withdraw(this.deps.allocId);
    await this.deps.removeSocket();
  }

  /** The agent ends; the plugin may go on without it. */
  close(): void {
    this.rest();
    this.mode = 'stopped';
    this.plugin.close();
  }

  private begin(): void {
    this.mode = 'starting';
    this.lastProblem = 'it was not ready';
    const { HealthTimeout } = this.deps.config;
    this.cancelTimeout = this.deps.timers.after(msFromNs(HealthTimeout), () => {
      this.rest();
      this.deps.emit('Plugin became unhealthy', { message: `Error: CSI plugin failed probe: ${this.lastProblem}` });
      this.deps.fail(
        `CSI plugin did not become healthy before configured ${formatDuration(HealthTimeout)} health timeout`,
      );
    });
    void this.probe();
  }

  private rest(): void {
    this.mode = 'idle';
    this.round++;
    this.cancelProbe();
    this.cancelTimeout();
  }

  /** What is known of it is from before its task ended, or started. */
  private probeAnew(isTaskUp: boolean): void {
    this.round++;
    this.cancelProbe();
    if (!isTaskUp) this.seen(NOT_RUNNING);
    void this.probe();
  }

  private async probe(): Promise<void> {
    const { mode, round } = this;
    let problem: string | undefined;
    try {
      problem = (await this.plugin.identity.probe()) ? undefined : '';
    } catch (error) {
      problem = errorText(error);
    }
    if (this.round !== round) return;
    if (mode === 'watching') this.seen(problem);
    else if (problem === undefined) await this.becameWell();
    else this.lastProblem = problem || this.lastProblem;
    if (this.round !== round) return;
    const isWell = this.mode === 'watching' && this.isHealthy;
    const pauseMs = isWell ? PROBE_INTERVAL_MS : UNWELL_PROBE_INTERVAL_MS;
    this.cancelProbe = this.deps.timers.after(pauseMs, () => void this.probe());
  }

  /** Reads the plugin's name and version when it is healthy for the first time, and registers its sides (VL-208). */
  private async becameWell(): Promise<void> {
    const { allocId, config, socketPath, mountRoot, pluginRoot, registry } = this.deps;
    const { round } = this;
    this.cancelTimeout();
    this.deps.emit('Plugin became healthy', { message: `plugin: ${config.ID}` });
    try {
      const { name, version } = await this.plugin.identity.info();
      if (this.round !== round) return;
      this.mode = 'watching';
      this.isHealthy = true;
      for (const side of SIDES[config.Type] ?? []) {
        if (this.round !== round) return; // withdrawn while the other side was written
        const of = { side, pluginId: config.ID, allocId, socketPath, mountRoot, pluginRoot };
        await registry.register({ ...of, provider: name, providerVersion: version });
      }
    } catch (error) {
      if (this.round !== round) return;
      this.rest();
      this.deps.fail(`CSI plugin could not be registered: ${errorText(error)}`);
    }
  }

  /**
   * Records the result of a probe and reports a change of health (VL-209).
   * @param problem undefined: the plugin is healthy; empty: the plugin is not ready and names no reason
   */
  private seen(problem: string | undefined): void {
    const isHealthy = problem === undefined;
    if (isHealthy === this.isHealthy) return;
    this.isHealthy = isHealthy;
    const { allocId, config, emit, registry } = this.deps;
    if (isHealthy) emit('Plugin became healthy', { message: `plugin: ${config.ID}` });
    else emit('Plugin became unhealthy', { message: problem ? `Error: ${problem}` : 'Unknown Reason' });
    registry.healthChanged(allocId);
  }
}
