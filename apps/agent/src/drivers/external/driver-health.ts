import { errorText, type Clock, type Timers } from '@waybill/model';
import { attributeText, DriverClient, type DriverFingerprintMessage, PluginShutDownError } from '@waybill/plugins';
import type { PluginInstance } from '../../plugins/plugin-instance.js';
import { Gate, pause } from '../../waiting/gate.js';
import type { DriverFingerprint, DriverHealth } from '../driver.js';

const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 120_000;
/** A stream that ends sooner is not asked again at once. */
const SHORT_STREAM_MS = 1_000;

/** The most bytes of a driver's attributes as JSON: a node has to fit a message of NATS (PG-7). */
export const MAX_ATTRIBUTE_BYTES = 32 * 1024;

const HEALTH: ReadonlyMap<string, DriverHealth> = new Map([
  ['UNHEALTHY', 'unhealthy'],
  ['HEALTHY', 'healthy'],
]);

/**
 * DriverHealthWatch reads the fingerprints of an external driver, for as long as the agent runs (PG-53).
 *
 * unknown → known. Each message replaces the driver's state. When the stream ends, the plugin is asked again at once;
 * when that fails, after 5 s, then twice as long each time, at most 2 minutes. Memory: the last message.
 */
export class DriverHealthWatch {
  private last: DriverFingerprint | undefined;
  private readonly first = new Gate();
  private readonly stopping = new AbortController();
  private readonly stopped = new Gate();
  private readonly listeners: (() => void)[] = [];

  constructor(
    /** The name of the driver. */
    private readonly name: string,
    private readonly plugin: Pick<PluginInstance, 'runningProcess' | 'isClosed'>,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /** Returns the last state, and waits for the first one. */
  async current(): Promise<DriverFingerprint> {
    await this.first.opened;
    return this.last ?? UNDETECTED;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Sets a state that the plugin did not report, because it has ended. Its attributes stay. */
  setUnhealthy(description: string): void {
    this.setState({ health: 'unhealthy', description, attributes: this.last?.attributes ?? {} });
  }

  /** Reads until `stop`. Never rejects. */
  async watch(): Promise<void> {
    for (let failures = 0; !this.stopping.signal.aborted;) {
      const begunMs = this.clock.nowMs();
      try {
        const client = new DriverClient((await this.plugin.runningProcess()).connection);
        for await (const message of client.fingerprint(this.stopping.signal)) {
          failures = 0;
          this.setState(stateOf(message, this.name));
        }
        if (this.clock.nowMs() - begunMs < SHORT_STREAM_MS) failures++;
      } catch (error) {
        if (this.stopping.signal.aborted || this.plugin.isClosed) return;
        if (error instanceof PluginShutDownError) continue;
        failures++;
        this.setUnhealthy(`failed to fingerprint driver: ${errorText(error)}`);
      }
      if (failures > 0)
        await pause(this.timers, Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MAX_WAIT_MS), this.stopped);
    }
  }

  stop(): void {
    this.stopping.abort();
    this.stopped.open();
  }

  private setState(state: DriverFingerprint): void {
    this.last = state;
    this.first.open();
    this.notify();
  }

  /** Tells all listeners that something about the driver has changed. */
  notify(): void {
    for (const listener of this.listeners) listener();
  }
}

const UNDETECTED: DriverFingerprint = { health: 'undetected', description: 'has not answered yet', attributes: {} };

/** A driver that is detected has its own attribute, whatever the plugin says about it (AG-22). */
export function stateOf(message: DriverFingerprintMessage, name: string): DriverFingerprint {
  const { health, health_description: description, attributes, err } = message;
  if (err !== '') return { health: 'unhealthy', description: `failed to fingerprint driver: ${err}`, attributes: {} };
  const texts = Object.entries(attributes).map(([key, attribute]) => [key, attributeText(attribute)] as const);
  const bytes = Buffer.byteLength(JSON.stringify(texts));
  if (bytes > MAX_ATTRIBUTE_BYTES)
    return {
      health: 'unhealthy',
      description: `the attributes of the driver have ${bytes} bytes, and at most ${MAX_ATTRIBUTE_BYTES} fit a node`,
      attributes: {},
    };
  return {
    health: HEALTH.get(health) ?? 'undetected',
    description,
    attributes: { ...Object.fromEntries(texts), [`driver.${name}`]: '1' },
  };
}
