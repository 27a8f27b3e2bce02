import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { Presence, SignOfLife } from '@waybill/rpc';

/** Interval at which a process announces itself. */
export const SIGN_EVERY_MS = 1_000;
/** A peer that was silent for this long was killed or cut off. */
export const SILENCE_MS = 3_000;

/**
 * Watches the other processes of this service on behalf of the machines. A machine's read of its allocations waits at
 * one process for up to half a minute, and a killed process does not answer. A process that starts, or that misses a
 * peer, tells all machines to read again: a machine learns of new work within SILENCE_MS and the time over which
 * machines spread, instead of after its timeout.
 *
 * Modes: off → on → off; without a lease. A process that stops in good order announces that, because it has answered
 * its reads. A process that was itself suspended for SILENCE_MS, or whose clock was set, waits for the next
 * announcement of each peer.
 * Cost: one message for each process and second, and one for each peer that starts. Each machine makes one read when a
 * process starts or is lost.
 */
export class Peers {
  /** Unix ms of the last announcement, by instance. */
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

  /** Starts announcing. Call it when this process answers reads. */
  start(): void {
    this.endHearing = this.presence.onSign((sign) => this.recordSign(sign));
    this.presence.announceChange();
    this.announceAndExpirePeers();
  }

  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.endHearing();
    this.presence.sign({ instance: this.instance, ends: true });
    this.heard.clear();
  }

  /** Peers that are alive. */
  get size(): number {
    return this.heard.size;
  }

  private recordSign({ instance, ends }: SignOfLife): void {
    if (instance === this.instance) return;
    const isNew = !ends && !this.heard.has(instance);
    if (ends) this.heard.delete(instance);
    else this.heard.set(instance, this.clock.nowMs());
    if (isNew) this.sendSign(); // so that the new peer misses this process even if it ends at once
  }

  private sendSign(): void {
    this.presence.sign({ instance: this.instance, ends: false });
  }

  private announceAndExpirePeers(): void {
    const nowMs = this.clock.nowMs();
    const isOutOfTime = Math.abs(nowMs - this.lastTickMs) >= SILENCE_MS;
    this.lastTickMs = nowMs;
    this.sendSign();
    let isMissed = false;
    for (const [instance, sinceMs] of this.heard) {
      if (isOutOfTime) this.heard.set(instance, nowMs);
      else if (nowMs - sinceMs >= SILENCE_MS) isMissed = this.heard.delete(instance);
    }
    if (isMissed) this.presence.announceChange();
    this.cancel = this.timers.after(SIGN_EVERY_MS, () => this.announceAndExpirePeers());
  }
}
