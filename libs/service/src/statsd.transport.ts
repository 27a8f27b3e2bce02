import { createSocket, type Socket } from 'node:dgram';
import type { CancelTimer, Timers } from '@waybill/model';
import { type Logger, type Shown, statsdPackets } from '@waybill/telemetry';

export interface StatsdOptions {
  /** Address as `host:port`. If empty, nothing is sent. */
  readonly address: string;
  readonly intervalMs: number;
  /** Returns present values, and counts since the previous call. */
  readonly lately: () => Promise<Shown>;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Sends metrics to a statsd server over UDP, once per interval (`statsd_address` of OP-105).
 *
 * off → waiting ⇄ sending → off. Without an address it stays off and costs nothing. Lost packets are not repeated. A
 * failure to send is logged once, until sending works again.
 */
export class StatsdSender {
  private socket: Socket | undefined;
  private cancel: CancelTimer = () => {};
  private isFailing = false;

  constructor(private readonly options: StatsdOptions) {}

  start(): void {
    if (this.options.address === '') return;
    this.socket = createSocket('udp4').unref();
    this.socket.on('error', (error) => this.failed(error));
    this.wait();
  }

  stop(): void {
    this.cancel();
    this.socket?.close();
    this.socket = undefined;
  }

  private wait(): void {
    this.cancel = this.options.timers.after(this.options.intervalMs, () => {
      void this.send()
        .then(() => (this.isFailing = false))
        .catch((error: unknown) => this.failed(error))
        .finally(() => this.socket && this.wait());
    });
  }

  private async send(): Promise<void> {
    const at = this.options.address.lastIndexOf(':');
    const [host, port] = [this.options.address.slice(0, at), Number(this.options.address.slice(at + 1))];
    for (const packet of statsdPackets(await this.options.lately()))
      await new Promise<void>((resolve, reject) => {
        if (!this.socket) return resolve();
        this.socket.send(packet, port, host, (error) => (error ? reject(error) : resolve()));
      });
  }

  private failed(error: unknown): void {
    if (!this.isFailing) this.options.logger.warn('metrics cannot be sent to statsd', { error });
    this.isFailing = true;
  }
}
