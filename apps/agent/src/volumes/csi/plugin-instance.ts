import type { CsiPlugin } from '@waybill/csi';
import {
  type CancelTimer,
  type Clock,
  type CSIInfo,
  type CSINodeInfo,
  rfc3339FromMs,
  type Timers,
  errorText,
} from '@waybill/model';
import { controllerInfo, machineInfo, nodeAbilities } from './plugin-abilities.js';
import type { PluginRegistration } from './plugin-registry.js';

/** Interval between fingerprints of a healthy plugin (VL-212). */
export const FINGERPRINT_INTERVAL_MS = 30_000;
/** Interval between fingerprints of an unhealthy plugin (VL-212). */
export const UNWELL_INTERVAL_MS = 5_000;
/** The time limit in milliseconds of each call in a round. A round has at most three calls. */
const FINGERPRINT_CALL_TIMEOUT_MS = 10_000;

export interface PluginInstanceDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Receives the state after each round, and once more when the plugin is withdrawn. */
  readonly report: (info: CSIInfo) => void;
}

/**
 * PluginInstance is one active plugin of this machine (VL-212 to VL-216).
 *
 * States: new → unknown → known → withdrawn. unknown: no round has succeeded yet, and the plugin is reported as
 * unhealthy. known: the facts that never change were read once, and each round asks for health and capabilities.
 * withdrawn: it was reported unhealthy one last time with the known facts (VL-218), and its connection is closed. There
 * is one round at a time: one every FINGERPRINT_INTERVAL_MS, every UNWELL_INTERVAL_MS while the plugin is unhealthy,
 * and one at once when a change is reported.
 */
export class PluginInstance {
  private info: CSIInfo;
  private isKnown = false;
  private isWithdrawn = false;
  private isProbing = false;
  /** Whether a change was reported during the current round. */
  private hasChanged = false;
  private cancel: CancelTimer = () => {};

  constructor(
    readonly registration: PluginRegistration,
    readonly plugin: CsiPlugin,
    private readonly deps: PluginInstanceDependencies,
  ) {
    this.info = {
      PluginID: registration.pluginId,
      AllocID: registration.allocId,
      Healthy: false,
      HealthDescription: '',
      UpdateTime: null,
      Provider: registration.provider,
      ProviderVersion: registration.providerVersion,
      RequiresControllerPlugin: false,
      RequiresTopologies: false,
    };
  }

  /** The node plugin's description of the machine; undefined before the first one, and for a controller. */
  get machine(): CSINodeInfo | undefined {
    return this.isKnown ? this.info.NodeInfo : undefined;
  }

  /** Whether the last round found the plugin healthy. */
  get isHealthy(): boolean {
    return this.info.Healthy;
  }

  /** Begins a round now, and continues with rounds. */
  probe(): void {
    this.cancel();
    this.hasChanged = this.isProbing;
    if (!this.isProbing) void this.runRound();
  }

  /** Stops the rounds without a report. */
  stopRounds(): void {
    this.isWithdrawn = true;
    this.cancel();
    this.plugin.close();
  }

  withdraw(): void {
    if (this.isWithdrawn) return;
    this.stopRounds();
    this.reportInfo({ ...this.info, Healthy: false, HealthDescription: 'unhealthy' });
  }

  private async runRound(): Promise<void> {
    this.isProbing = true;
    const next = await this.readInfo();
    this.isProbing = false;
    if (this.isWithdrawn) return;
    if (this.hasChanged) return this.probe();
    this.reportInfo(next);
    const pauseMs = next.Healthy ? FINGERPRINT_INTERVAL_MS : UNWELL_INTERVAL_MS;
    this.cancel = this.deps.timers.after(pauseMs, () => void this.runRound());
  }

  private async readInfo(): Promise<CSIInfo> {
    try {
      if (!this.isKnown) this.info = { ...this.info, ...(await this.readLastingFacts()) };
      const next = { ...this.info, ...(await this.readCurrentFacts()) };
      this.isKnown = true;
      return next;
    } catch (error) {
      const reason = errorText(error);
      const failed = this.isKnown ? 'failed fingerprinting with error' : 'failed initial fingerprint with err';
      return { ...this.info, Healthy: false, HealthDescription: `${failed}: ${reason}` };
    }
  }

  /** Reads the facts that last as long as the plugin: its capabilities, and for a node plugin the machine (VL-213). */
  private async readLastingFacts(): Promise<Partial<CSIInfo>> {
    const { identity, node } = this.plugin;
    const options = { timeoutMs: FINGERPRINT_CALL_TIMEOUT_MS };
    const can = await identity.capabilities(options);
    return {
      RequiresControllerPlugin: can.has('CONTROLLER_SERVICE'),
      RequiresTopologies: can.has('VOLUME_ACCESSIBILITY_CONSTRAINTS'),
      ...(this.registration.side === 'node' && {
        NodeInfo: { ...machineInfo(await node.info(options)), ...nodeAbilities(new Set()) },
      }),
    };
  }

  /** Reads the facts that may change with each round: health, and the capabilities of its side (VL-214). */
  private async readCurrentFacts(): Promise<Partial<CSIInfo>> {
    const { identity, controller, node } = this.plugin;
    const options = { timeoutMs: FINGERPRINT_CALL_TIMEOUT_MS };
    const ready = await identity.probe();
    const health = { Healthy: ready, HealthDescription: ready ? 'healthy' : 'unhealthy' };
    const { NodeInfo } = this.info;
    if (!NodeInfo) return { ...health, ControllerInfo: controllerInfo(await controller.capabilities(options)) };
    return { ...health, NodeInfo: { ...NodeInfo, ...nodeAbilities(await node.capabilities(options)) } };
  }

  private reportInfo(info: CSIInfo): void {
    this.info = { ...info, UpdateTime: rfc3339FromMs(this.deps.clock.nowMs()) };
    this.deps.report(this.info);
  }
}
