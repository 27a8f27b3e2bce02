import { uptime } from 'node:os';
import {
  type CancelTimer,
  type Clock,
  CLOCK_TOLERANCE_MS,
  type Timers,
  type TimeSources,
  WitnessedClock,
} from '@waybill/model';
import { monotonicClock } from '@waybill/roles';
import type { Logger } from '@waybill/telemetry';
import { systemClock } from './system.js';

/** Milliseconds between two queries of the witness. */
export const WITNESS_PERIOD_MS = 5_000;

/** Returns the time of another clock in unix ms and the duration of the request, or undefined without a response. */
export type Witness = () => Promise<{ readonly unixMs: number; readonly tripMs: number } | undefined>;

export interface MachineClockDeps {
  readonly timers: Timers;
  readonly logger: Logger;
  /** The clocks of a simulated machine. By default those of this machine. */
  readonly clocks?: Pick<TimeSources, 'wall' | 'monotonic'>;
}

const OF_THIS_MACHINE: Omit<TimeSources, 'onDoubt'> = {
  wall: systemClock,
  monotonic: monotonicClock,
  sinceBoot: () => uptime() * 1_000,
};

/**
 * The clock of a process (`WitnessedClock`) and the queries that keep it right. It is compared with the clock of NATS,
 * or, on a machine without access to the log, with the servers' responses to its heartbeats.
 *
 * alone → attended (a witness is queried every WITNESS_PERIOD_MS, and at once after the wall clock was set) → stopped.
 */
export class MachineClock implements Clock {
  private readonly clock: WitnessedClock;
  private readonly monotonic: Clock;
  private witness: Witness | undefined;
  private cancel: CancelTimer = () => {};
  private asking: Promise<void> | undefined;
  private isOff = false;
  private stopped = false;

  constructor(private readonly deps: MachineClockDeps) {
    const clocks = deps.clocks ?? OF_THIS_MACHINE;
    this.monotonic = clocks.monotonic;
    this.clock = new WitnessedClock({ ...clocks, onDoubt: () => void this.askTime() });
  }

  nowMs(): number {
    return this.clock.nowMs();
  }

  /**
   * Marks the start of a request whose response may contain the time in unix ms. That time counts only while there is
   * no better witness.
   */
  asks(): (unixMs: number) => void {
    const sentMs = this.monotonic.nowMs();
    return (unixMs) => {
      if (!this.witness && this.clock.hear(unixMs, this.monotonic.nowMs() - sentMs)) this.tell();
    };
  }

  /** Resolves after the first query of the witness, whatever its result. */
  async attend(witness: Witness): Promise<void> {
    this.witness = witness;
    await this.askTime();
    this.askLater();
  }

  stop(): void {
    this.stopped = true;
    this.cancel();
  }

  private askLater(): void {
    if (this.stopped) return;
    this.cancel = this.deps.timers.after(WITNESS_PERIOD_MS, () => {
      void this.askTime();
      this.askLater();
    });
  }

  private askTime(): Promise<void> {
    this.asking ??= this.askOnce().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async askOnce(): Promise<void> {
    if (!this.witness || this.stopped) return;
    try {
      const said = await this.witness();
      if (said && this.clock.hear(said.unixMs, said.tripMs)) this.tell();
    } catch {
      // The witness cannot be reached, so its last time still counts.
    }
  }

  private tell(): void {
    this.clock.nowMs();
    const offMs = this.clock.offMs;
    const isOff = Math.abs(offMs) > CLOCK_TOLERANCE_MS;
    if (isOff === this.isOff) return;
    this.isOff = isOff;
    if (isOff)
      this.deps.logger.warn('the clock of this machine is not believed: set it right, or that of NATS', {
        aheadMs: Math.round(offMs),
      });
    else this.deps.logger.info('the clock of this machine is right again');
  }
}
