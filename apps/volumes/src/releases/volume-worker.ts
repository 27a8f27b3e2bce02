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
/** Pause before a failed pass is repeated, milliseconds; it doubles each time (VL-146). */
export const FIRST_RETRY_MS = 1_000;
export const LONGEST_RETRY_MS = 60_000;

/** Passes of one volume per second, and the burst (VL-146). */
const PASS_RATE: TokenRate = { perSecond: 1, burst: 3 };

/** Dependencies that all workers of a term share. */
export interface Releasing {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly counters: ReleaseCounters;
  /** The stored volume, with past claims for the claims of ended allocations; undefined if it was deleted. */
  volumeOf(key: string): CSIVolume | undefined;
  /** Whether the allocation's agent has not reported its end. */
  isAlive(allocId: string): boolean;
  /** The workflow that all releases use (VL-150). */
  unpublish(volume: CSIVolume, claim: CSIVolumeClaim): Promise<unknown>;
}

export interface ReleaseCounters {
  passes: number;
  unpublishes: number;
  failures: number;
}

/**
 * Frees the claims of ended allocations of one volume, while there are any.
 *
 * Modes: waiting (for its turn, or until a failed pass is due again) → passing → waiting | resting → ended. A pass
 * reads the volume as it is stored and releases every past claim; the failure of one claim does not prevent the others
 * (VL-141). Changes during a pass lead to one more pass (VL-145). After a pass without failure the worker rests for
 * QUIESCENT_MS and then ends, unless the volume changes (VL-143); if the volume was deleted, it ends at once (VL-142).
 * Limits: PASS_RATE; one timer. Cost of a change: O(claims of the volume).
 */
export class VolumeWorker {
  private readonly passes: TokenBucket;
  /** Lasts as long as the worker; the spans of its passes are its children (VL-149). */
  private readonly span: Span;
  private timer: CancelTimer | undefined;
  private passing = false;
  private changedMeanwhile = false;
  private ended = false;
  private retryMs = FIRST_RETRY_MS;
  /**
   * Allocations with past claims that were seen as ended. If one of them lives again, it came back with its machine.
   */
  private readonly seenEnded = new Set<string>();

  /** @param onEnd called once when the worker ends by itself, not when it is stopped */
  constructor(
    readonly key: string,
    private readonly releasing: Releasing,
    private readonly onEnd: (worker: VolumeWorker) => void,
  ) {
    this.passes = new TokenBucket(releasing.clock, PASS_RATE);
    this.span = releasing.tracer().startSpan('volume worker', { attributes: { 'waybill.volume': key }, root: true });
  }

  /** Asks for a pass, because the volume changed. */
  requestPass(): void {
    this.noteEnded(this.releasing.volumeOf(this.key));
    this.retryMs = FIRST_RETRY_MS;
    if (this.passing) this.changedMeanwhile = true;
    else if (!this.due) this.schedulePass(this.passes.reserve());
  }

  stop(): void {
    this.ended = true;
    this.timer?.();
    this.span.end();
  }

  /** Whether the timer is for a pass that a change asked for, and not for a retry or the worker's end. */
  private due = false;

  private schedulePass(delayMs: number): void {
    this.due = true;
    this.setTimer(delayMs, () => void this.runPass());
  }

  private setTimer(delayMs: number, run: () => void): void {
    this.timer?.();
    this.timer = this.releasing.timers.after(delayMs, run);
  }

  private async runPass(): Promise<void> {
    this.due = false;
    this.passing = true;
    const options = { traceparent: traceparentOf(this.span), attributes: { 'waybill.volume': this.key } };
    const outcome = await withSpan(this.releasing.tracer(), 'volume release', options, () => this.releasePastClaims());
    this.passing = false;
    if (this.ended) return;
    if (this.changedMeanwhile) {
      this.changedMeanwhile = false;
      this.schedulePass(this.passes.reserve());
    } else if (outcome === 'gone') this.finish();
    else if (outcome === 'failed') this.scheduleRetry();
    else this.setTimer(QUIESCENT_MS, () => this.finish());
  }

  private scheduleRetry(): void {
    this.setTimer(this.retryMs, () => void this.runPass());
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
  }

  private finish(): void {
    this.stop();
    this.onEnd(this);
  }

  /** One pass. Never rejects. */
  private async releasePastClaims(): Promise<'done' | 'failed' | 'gone'> {
    const { counters } = this.releasing;
    const volume = this.releasing.volumeOf(this.key);
    if (!volume) return 'gone';
    counters.passes++;
    this.noteEnded(volume);
    let failed = false;
    for (const id of Object.keys(volume.PastClaims)) {
      if (this.ended) break;
      // The release before this one may have taken minutes: this claim may be released by now, or taken again (VL-308).
      const claim = this.releasing.volumeOf(this.key)?.PastClaims[id];
      if (!claim) continue;
      if (this.isRevived(claim)) {
        failed = true; // tried again by the next pass
        continue;
      }
      counters.unpublishes++;
      failed = !(await this.releaseClaim(volume, claim)) || failed;
    }
    return failed ? 'failed' : 'done';
  }

  /**
   * Records ended allocations at each change and not only at each pass: an allocation may have come back by the next
   * pass.
   */
  private noteEnded(volume: CSIVolume | undefined): void {
    const claims = volume?.PastClaims ?? {};
    for (const id of this.seenEnded) if (!(id in claims)) this.seenEnded.delete(id);
    for (const id of Object.keys(claims)) if (!this.releasing.isAlive(id)) this.seenEnded.add(id);
  }

  /**
   * Whether the allocation came back while its claim was to be released; it keeps the claim until it ends. Other living
   * allocations release their claims themselves.
   */
  private isRevived({ AllocationID: id }: CSIVolumeClaim): boolean {
    return this.seenEnded.has(id) && this.releasing.isAlive(id);
  }

  private async releaseClaim(volume: CSIVolume, claim: CSIVolumeClaim): Promise<boolean> {
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
