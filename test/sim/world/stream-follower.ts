import type { FollowOptions, Follower } from '@waybill/journal';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { TxnStream } from './txn-stream.js';
import type { Wire } from './wire.js';

/** Most transactions of one delivery: small, so that a replica stands still in the middle of a burst. */
const MAX_BATCH = 20;
/** A follower that is cut off looks again after this, milliseconds. */
const RECOVERY_MS = 100;

/**
 * Delivers the stream to one process: in order, each once, some time after it was stored, in batches. It stands still
 * while the process is cut off, paused or stalled, and goes on where it was.
 */
export class StreamFollower implements Follower {
  readonly caughtUp: Promise<number>;
  private readonly target: number;
  private finished: number;
  private stopped = false;
  private scheduled = false;
  private resolveCaughtUp: (index: number) => void = () => {};
  private readonly offStream: () => void;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly stream: TxnStream,
    private readonly wire: Wire,
    private readonly options: FollowOptions,
  ) {
    this.finished = options.from - 1;
    this.target = stream.last;
    this.caughtUp = new Promise((resolve) => (this.resolveCaughtUp = resolve));
    this.offStream = stream.onStored(() => this.plan());
    this.noteCaughtUp();
    this.plan();
  }

  get index(): number {
    return this.finished;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.offStream();
  }

  private plan(): void {
    if (!this.process.isAlive) this.offStream();
    if (this.scheduled || this.stopped || !this.process.isAlive || this.finished >= this.stream.last) return;
    this.scheduled = true;
    this.deliverAfter(this.wire.delayMs() + this.process.stalledForMs);
  }

  private deliverAfter(delayMs: number): void {
    this.process.reachedAfter(delayMs, `log → ${this.process.name}`, () => {
      if (!this.wire.connects(this.process)) return this.deliverAfter(RECOVERY_MS);
      if (this.process.stalledForMs > 0) return this.deliverAfter(this.process.stalledForMs);
      void this.deliver();
    });
  }

  private async deliver(): Promise<void> {
    if (this.stopped) return;
    const isLive = this.finished >= this.target;
    const until = Math.min(this.finished + MAX_BATCH, isLive ? this.stream.last : this.target);
    const batch = this.stream.stored.slice(this.finished, until).map(({ txn }) => txn);
    try {
      await this.options.onTxns(batch, { live: isLive });
    } catch (error) {
      await this.stop();
      this.options.onError(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.finished = until;
    this.noteCaughtUp();
    this.scheduled = false;
    this.plan();
  }

  private noteCaughtUp(): void {
    if (this.finished >= this.target) this.resolveCaughtUp(this.target);
  }
}
