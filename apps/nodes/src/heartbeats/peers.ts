import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { Presence, SignOfLife } from '@waybill/rpc';

/** How often a process says that it is there. */
export const SIGN_EVERY_MS = 1_000;
/** A peer that was silent for this long was killed or cut off. */
export const SILENCE_MS = 3_000;

/**
 * Watches the other processes of this service, for the machines' sake. A machine's read of its allocations waits at one
 * process for up to half a minute, and a killed process answers nobody. A process that starts, or that misses a peer,
 * tells all machines to ask again: a machine learns of new work within SILENCE_MS and the time over which machines spread,
 * instead of after its timeout.
 *
 * Modes: off → on → off; under no lease. A process that ends in good order says so, because it has answered its reads. A
 * process that stood still for SILENCE_MS itself, or whose clock was set, waits for the next sign of each peer.
 * Cost: one message per process and second, and one for each peer that starts. Machines pay one read each when a process
 * starts or is lost.
 */
export class Peers {
  /** Unix ms of the last sign, by instance. */
  private readonly heard = new Map<string, number>();
  private lastTickMs = 0;
  private cancel: CancelTimer | undefined;
  private endHearing: () => void = () => {};

  constructor(
    private readonly presence: Presence,
    private readonly instance: string,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /** Call it when this process answers reads. */
  start(): void {
    this.endHearing = this.presence.onSign((sign) => this.hear(sign));
    this.lastTickMs = this.clock.nowMs();
    this.presence.announceChange();
    this.tick();
  }

  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.endHearing();
    this.presence.sign({ instance: this.instance, ends: true });
    this.heard.clear();
  }

  /** Peers that are there. */
  get size(): number {
    return this.heard.size;
  }

  private hear({ instance, ends }: SignOfLife): void {
    if (instance === this.instance) return;
    const isNew = !ends && !this.heard.has(instance);
    if (ends) this.heard.delete(instance);
    else this.heard.set(instance, this.clock.nowMs());
    if (isNew) this.sign(); // so that the new peer misses this process even if it goes at once
  }

  private sign(): void {
    this.presence.sign({ instance: this.instance, ends: false });
  }

  private tick(): void {
    const nowMs = this.clock.nowMs();
    const isOutOfTime = Math.abs(nowMs - this.lastTickMs) >= SILENCE_MS;
    this.lastTickMs = nowMs;
    this.sign();
    let isMissed = false;
    for (const [instance, sinceMs] of this.heard) {
      if (isOutOfTime) this.heard.set(instance, nowMs);
      else if (nowMs - sinceMs >= SILENCE_MS) isMissed = this.heard.delete(instance);
    }
    if (isMissed) this.presence.announceChange();
    this.cancel = this.timers.after(SIGN_EVERY_MS, () => this.tick());
  }
}
