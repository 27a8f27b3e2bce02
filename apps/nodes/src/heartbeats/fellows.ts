import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { Presence, SignOfLife } from '@waybill/rpc';

/** How often a process says that it is there. */
export const SIGN_EVERY_MS = 1_000;
/** A fellow that was silent for so long is gone: killed, or cut off. */
export const SILENCE_MS = 3_000;

/**
 * The processes of this service keep an eye on each other, for the machines' sake: a machine's read of its allocations
 * waits at one of them for up to half a minute, and if that one is killed nobody answers. A machine cannot notice that
 * by itself without asking all the time. So whoever begins, and whoever misses a fellow, tells all machines, and they
 * ask again: a machine learns of new work within SILENCE_MS and the time over which they spread, not after its timeout.
 *
 * off → on → off; under no lease. Who ends in good order says so: it has answered its reads. Who itself stood still for
 * SILENCE_MS, or whose clock was set, knows nothing of the others and waits for their next sign.
 * Cost: one message per process and second, and one for each that comes, among few processes; machines pay one read each when a process comes or is
 * lost, and nothing while all is well.
 */
export class Fellows {
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

  /** To be called when this process answers. */
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

  /** Others that are there. */
  get size(): number {
    return this.heard.size;
  }

  private hear({ instance, ends }: SignOfLife): void {
    if (instance === this.instance) return;
    const isNew = !ends && !this.heard.has(instance);
    if (ends) this.heard.delete(instance);
    else this.heard.set(instance, this.clock.nowMs());
    if (isNew) this.sign(); // it knows of this one at once, and misses it even if it goes at once
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
