import {
  type CancelTimer,
  type Clock,
  type CSIVolume,
  type CSIVolumeClaim,
  type Timers,
  TokenBucket,
  type TokenRate,
} from '@waybill/model';
import { type Logger, type Span, traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';

/** How long a worker stays after its last pass, milliseconds (VL-143). */
export const QUIESCENT_MS = 5 * 60_000;
/** Pause before a failed pass is made again: doubled each time (VL-146), milliseconds. */
export const FIRST_RETRY_MS = 1_000;
export const LONGEST_RETRY_MS = 60_000;

/** VL-146: passes of one volume per second, and how many may follow each other at once. */
const PASS_RATE: TokenRate = { perSecond: 1, burst: 3 };

/** What all workers of a term share. */
export interface Releasing {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly counters: ReleaseCounters;
  /** As it stands now, with past claims for those of ended allocations; undefined: it is gone. */
  volumeOf(key: string): CSIVolume | undefined;
  /** Its agent has not said that it ended. */
  isAlive(allocId: string): boolean;
  /** The workflow of everybody (VL-150). */
  unpublish(volume: CSIVolume, claim: CSIVolumeClaim): Promise<unknown>;
}

export interface ReleaseCounters {
  passes: number;
  unpublishes: number;
  failures: number;
}

/**
 * Frees the claims of one volume that have ended, for as long as there is something to do.
 *
 * waiting (for its turn, or until a failed pass is due again) → passing → waiting | resting → ended. A pass looks at the
 * volume as it stands and gives back every past claim; a failure of one does not keep the others (VL-141). Changes while
 * a pass runs come to one more pass (VL-145). After a pass without failure it rests for QUIESCENT_MS and ends, unless the
 * volume changes (VL-143); of a volume that is gone it ends at once (VL-142).
 * Limits: PASS_RATE; one timer. Cost of a change: the claims of the volume.
 */
export class VolumeWorker {
  private readonly passes: TokenBucket;
  /** As long as it lives; its passes are within (VL-149). */
  private readonly span: Span;
  private timer: CancelTimer | undefined;
  private passing = false;
  private changedMeanwhile = false;
  private ended = false;
  private retryMs = FIRST_RETRY_MS;
  /** Allocations with past claims whose end was seen: one that lives all the same came back with its machine. */
  private readonly seenEnded = new Set<string>();

  /** @param onEnd called once when it ends by itself, not when it is stopped */
  constructor(
    readonly key: string,
    private readonly releasing: Releasing,
    private readonly onEnd: (worker: VolumeWorker) => void,
  ) {
    this.passes = new TokenBucket(releasing.clock, PASS_RATE);
    this.span = releasing.tracer().startSpan('volume worker', { attributes: { 'waybill.volume': key }, root: true });
  }

  /** The volume changed: a pass is due. */
  changed(): void {
    this.noteEnded(this.releasing.volumeOf(this.key));
    this.retryMs = FIRST_RETRY_MS;
    if (this.passing) this.changedMeanwhile = true;
    else if (!this.due) this.arm(this.passes.reserve());
  }

  stop(): void {
    this.ended = true;
    this.timer?.();
    this.span.end();
  }

  /** The timer is for a pass that a change asked for; not for a retry, nor for its end. */
  private due = false;

  private arm(delayMs: number): void {
    this.due = true;
    this.after(delayMs, () => void this.pass());
  }

  private after(delayMs: number, run: () => void): void {
    this.timer?.();
    this.timer = this.releasing.timers.after(delayMs, run);
  }

  private async pass(): Promise<void> {
    this.due = false;
    this.passing = true;
    const options = { traceparent: traceparentOf(this.span), attributes: { 'waybill.volume': this.key } };
    const outcome = await withSpan(this.releasing.tracer(), 'volume release', options, () => this.release());
    this.passing = false;
    if (this.ended) return;
    if (this.changedMeanwhile) {
      this.changedMeanwhile = false;
      this.arm(this.passes.reserve());
    } else if (outcome === 'gone') this.end();
    else if (outcome === 'failed') this.retry();
    else this.after(QUIESCENT_MS, () => this.end());
  }

  private retry(): void {
    this.after(this.retryMs, () => void this.pass());
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
  }

  private end(): void {
    this.stop();
    this.onEnd(this);
  }

  /** Never throws. */
  private async release(): Promise<'done' | 'failed' | 'gone'> {
    const { counters } = this.releasing;
    const volume = this.releasing.volumeOf(this.key);
    if (!volume) return 'gone';
    counters.passes++;
    this.noteEnded(volume);
    let failed = false;
    for (const id of Object.keys(volume.PastClaims)) {
      if (this.ended) break;
      // The one before may have taken minutes: it may be given back by now, or be taken again (VL-308).
      const claim = this.releasing.volumeOf(this.key)?.PastClaims[id];
      if (!claim) continue;
      if (this.isRevived(claim)) {
        failed = true; // looked at again
        continue;
      }
      counters.unpublishes++;
      failed = !(await this.released(volume, claim)) || failed;
    }
    return failed ? 'failed' : 'done';
  }

  /** At each change, not only when there is a turn: an allocation may be back by then. */
  private noteEnded(volume: CSIVolume | undefined): void {
    const claims = volume?.PastClaims ?? {};
    for (const id of this.seenEnded) if (!(id in claims)) this.seenEnded.delete(id);
    for (const id of Object.keys(claims)) if (!this.releasing.isAlive(id)) this.seenEnded.add(id);
  }

  /** It came back while its claim was to be released, and keeps it until it ends. Others live, and give it back themselves. */
  private isRevived({ AllocationID: id }: CSIVolumeClaim): boolean {
    return this.seenEnded.has(id) && this.releasing.isAlive(id);
  }

  private async released(volume: CSIVolume, claim: CSIVolumeClaim): Promise<boolean> {
    const { logger, counters } = this.releasing;
    try {
      await this.releasing.unpublish(volume, claim);
      return true;
    } catch (error) {
      if (this.ended) return false;
      counters.failures++;
      const { ID, Namespace } = volume;
      logger.warn('a claim was not released, it is tried again', {
        volume: ID,
        namespace: Namespace,
        alloc: claim.AllocationID,
        error,
      });
      return false;
    }
  }
}
