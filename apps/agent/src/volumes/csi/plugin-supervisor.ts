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
  /** Fails the task. Its policy decides what follows. */
  readonly fail: (reason: string) => void;
  /** Removes the socket at the end of the plugin. */
  readonly removeSocket: () => Promise<void>;
}

const SIDES: Readonly<Record<string, readonly PluginSide[]>> = {
  controller: ['controller'],
  node: ['node'],
  monolith: ['controller', 'node'],
};

/**
 * PluginSupervisor supervises the plugin in one task (VL-207 to VL-210).
 *
 * States: idle → starting ⇄ idle, starting → watching → stopped. idle: the task does not run. starting: the plugin is
 * probed every UNWELL_PROBE_INTERVAL_MS. If it becomes healthy in time it is registered, else the task fails, and the
 * supervisor is idle until the task is up again. watching: the plugin is probed every PROBE_INTERVAL_MS while it is
 * healthy, else every UNWELL_PROBE_INTERVAL_MS, and at once when the task ends or starts. A change of its health causes
 * an event and a fingerprint. stopped: the plugin is withdrawn and its socket removed. One loop and one timer at any
 * time.
 */
export class PluginSupervisor {
  private mode: 'idle' | 'starting' | 'watching' | 'stopped' = 'idle';
  private readonly plugin: CsiPlugin;
  /** The number of the current round. Probes of earlier rounds are ignored. */
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

  /** Handles the task's state. It is called after each change. */
  taskIs(up: boolean): void {
    if (up === this.isTaskUp) return;
    this.isTaskUp = up;
    if (this.mode === 'watching') this.restartProbing(up);
    if (!up && this.mode === 'starting') this.stopProbing();
    if (up && this.mode === 'idle') this.startProbing();
  }

  /** Withdraws the plugin, because the task is dead for good. */
  async stop(): Promise<void> {
    if (this.mode === 'stopped') return;
    this.close();
    await this.deps.registry.withdraw(this.deps.allocId);
    await this.deps.removeSocket();
  }

  /** Closes the supervisor at the end of the agent. The plugin may continue without it. */
  close(): void {
    this.stopProbing();
    this.mode = 'stopped';
    this.plugin.close();
  }

  private startProbing(): void {
    this.mode = 'starting';
    this.lastProblem = 'it was not ready';
    const { HealthTimeout } = this.deps.config;
    this.cancelTimeout = this.deps.timers.after(msFromNs(HealthTimeout), () => {
      this.stopProbing();
      this.deps.emit('Plugin became unhealthy', { message: `Error: CSI plugin failed probe: ${this.lastProblem}` });
      this.deps.fail(
        `CSI plugin did not become healthy before configured ${formatDuration(HealthTimeout)} health timeout`,
      );
    });
    void this.probe();
  }

  private stopProbing(): void {
    this.mode = 'idle';
    this.round++;
    this.cancelProbe();
    this.cancelTimeout();
  }

  /** Probes again after the end or the start of the task, because earlier results are outdated. */
  private restartProbing(isTaskUp: boolean): void {
    this.round++;
    this.cancelProbe();
    if (!isTaskUp) this.recordHealth(NOT_RUNNING);
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
    if (mode === 'watching') this.recordHealth(problem);
    else if (problem === undefined) await this.registerPlugin();
    else this.lastProblem = problem || this.lastProblem;
    if (this.round !== round) return;
    const isWell = this.mode === 'watching' && this.isHealthy;
    const pauseMs = isWell ? PROBE_INTERVAL_MS : UNWELL_PROBE_INTERVAL_MS;
    this.cancelProbe = this.deps.timers.after(pauseMs, () => void this.probe());
  }

  /** Reads the plugin's name and version when it is healthy for the first time, and registers its sides (VL-208). */
  private async registerPlugin(): Promise<void> {
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
        if (this.round !== round) return; // withdrawn during the write of the other side
        const of = { side, pluginId: config.ID, allocId, socketPath, mountRoot, pluginRoot };
        await registry.register({ ...of, provider: name, providerVersion: version });
      }
    } catch (error) {
      if (this.round !== round) return;
      this.stopProbing();
      this.deps.fail(`CSI plugin could not be registered: ${errorText(error)}`);
    }
  }

  /**
   * Records the result of a probe and reports a change of health (VL-209).
   * @param problem undefined if the plugin is healthy; empty if it is not ready and names no reason
   */
  private recordHealth(problem: string | undefined): void {
    const isHealthy = problem === undefined;
    if (isHealthy === this.isHealthy) return;
    this.isHealthy = isHealthy;
    const { allocId, config, emit, registry } = this.deps;
    if (isHealthy) emit('Plugin became healthy', { message: `plugin: ${config.ID}` });
    else emit('Plugin became unhealthy', { message: problem ? `Error: ${problem}` : 'Unknown Reason' });
    registry.healthChanged(allocId);
  }
}
