import { type Clock, errorText, pause, type Timers } from '@waybill/model';
import type { HashedBlock, LogDamage, ScrubStanding } from '@waybill/projection';
import type { Term } from '@waybill/roles';
import type { Logger } from '@waybill/telemetry';
import { type BlockFinding, blockStart, type IndexRange } from './block-reading.js';
import { Pace } from './pace.js';
import { blockFrom, isDamaged, ScrubPass } from './scrub-pass.js';
import type { ScrubbedLog, ScrubMemory } from './scrubbed-log.js';

/** The pause after a failure in milliseconds. */
export const SCRUB_RETRY_MS = 10_000;
/**
 * The longest time between two checks whether a pass is due, in milliseconds. It fits a timer, and a clock that
 * somebody sets is noticed within this time.
 */
const MAX_LOOK_MS = 3_600_000;

/** The advice says what to do, in the one line of a finding. */
const ADVICE = 'do not restart the nats-server; see WaybillLogDamaged in docs/monitoring.md';

const NO_DAMAGE: LogDamage = { unreadable: 0, changedBlocks: 0 };

export interface ScrubberOptions {
  readonly log: ScrubbedLog;
  readonly memory: ScrubMemory;
  readonly bytesPerSecond: number;
  /** The time from the end of one pass to the beginning of the next. */
  readonly intervalMs: number;
  /** Says whether the log is the one that this process knows. Another log is not damage. */
  readonly isSameLog: () => Promise<boolean>;
  readonly clock: Clock;
  /** A clock that nobody sets. */
  readonly monotonic: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Scrubber reads the whole log again and again. It notices a byte that the disk has changed while other places still
 * have the original, and before a service needs it. It runs beside the projector in the same term.
 *
 * waiting → passing → waiting … → idle. A pass reads the log from its first index to the last index that was projected
 * when the pass began, from one copy of the log. The next pass reads the next copy. It looks for messages that NATS
 * leaves out because their own checksum fails, and for blocks whose hash differs from that of their first reading.
 * After each block Postgres stores the position, and another term continues there. A late deposed holder writes the
 * same as its successor.
 * Limits: the messages of one request in memory. Cost: `bytesPerSecond` of NATS and its disk, and a small database
 * transaction for each block.
 */
export class Scrubber {
  private stopper: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();
  private readonly pace: Pace;
  private damage = NO_DAMAGE;
  private standing: ScrubStanding = { next: 1, pass: 0, endedAtMs: 0 };

  constructor(private readonly options: ScrubberOptions) {
    this.pace = new Pace(options.bytesPerSecond, options.monotonic);
  }

  start(term: Term): void {
    const stopper = new AbortController();
    this.stopper = stopper;
    this.running = this.scrubUntilStopped(term, stopper.signal);
  }

  async stop(): Promise<void> {
    this.stopper?.abort();
    await this.running;
    this.damage = NO_DAMAGE; // what is damaged, the holder says
  }

  stats(): Record<string, number> {
    const { unreadable, changedBlocks } = this.damage;
    const { next, pass } = this.standing;
    return { logUnreadable: unreadable, logChangedBlocks: changedBlocks, scrubbedIndex: next - 1, scrubPasses: pass };
  }

  private async scrubUntilStopped(term: Term, signal: AbortSignal): Promise<void> {
    const { timers, logger, memory } = this.options;
    for (let failures = 0; !signal.aborted && term.isCurrent();) {
      try {
        this.standing = await memory.standing();
        this.damage = await memory.damage();
        if (await this.isDue(signal)) await this.pass(term, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (failures++ === 0) logger.warn('the log cannot be scrubbed; trying again', { reason: errorText(error) });
        await pause(timers, SCRUB_RETRY_MS, signal);
      }
    }
  }

  /** Waits for the next pass unless one is under way. The result is false if no pass is due yet or the term is over. */
  private async isDue(signal: AbortSignal): Promise<boolean> {
    const { clock, timers, intervalMs } = this.options;
    const { endedAtMs, pass } = this.standing;
    if (endedAtMs > 0) {
      // A pass that ended under a clock that ran ahead must not delay the next one for longer than any other.
      const leftMs = Math.min(endedAtMs + intervalMs - clock.nowMs(), intervalMs);
      if (leftMs > 0) await pause(timers, Math.min(leftMs, MAX_LOOK_MS), signal);
      if (signal.aborted || leftMs > MAX_LOOK_MS) return false;
      this.standing = { next: 1, pass, endedAtMs: 0 };
    }
    return true;
  }

  private async pass(term: Term, signal: AbortSignal): Promise<void> {
    const { log, memory, clock, timers, isSameLog, logger } = this.options;
    const { first, last } = await log.bounds();
    const end = Math.min(last, await memory.appliedIndex());
    const copies = await log.copies();
    const copy = copies[this.standing.pass % Math.max(1, copies.length)] ?? '';
    const reading = new ScrubPass({ log, copy, pace: this.pace, isSameLog, timers, signal });
    const from = Math.max(blockStart(this.standing.next), first);
    try {
      await this.forgetBelow(first);
      for (let part = blockFrom(from, end); part.first <= end; part = blockFrom(part.last + 1, end)) {
        const known = await memory.block(blockStart(part.first));
        const found = await reading.check(part, known);
        if (signal.aborted || !term.isCurrent()) return;
        this.standing = { ...this.standing, next: part.last + 1 };
        if (found) await this.keep(found, known, reading.server);
      }
    } finally {
      await reading.close();
    }
    await this.forgetBelow((await log.bounds()).first);
    if (signal.aborted || !term.isCurrent()) return;
    this.standing = { next: end + 1, pass: this.standing.pass + 1, endedAtMs: clock.nowMs() };
    await memory.end(this.standing);
    logger.debug('the log was scrubbed', { from, to: end, ...this.damage });
  }

  private async forgetBelow(first: number): Promise<void> {
    const { memory } = this.options;
    await memory.begin(first, this.standing);
    this.damage = await memory.damage();
  }

  private async keep(found: BlockFinding, known: HashedBlock | undefined, server: string): Promise<void> {
    const { memory } = this.options;
    await memory.save(found.block, this.standing);
    if (isDamaged(found.block) || (known && isDamaged(known))) this.damage = await memory.damage();
    this.report(found, known, server);
  }

  /** Logs one line for each damaged block when it is found, and one line when it is sound again. */
  private report({ missing, block }: BlockFinding, known: HashedBlock | undefined, server: string): void {
    const { logger } = this.options;
    const more = { ...(server !== '' && { server }), next: ADVICE };
    if (block.unreadable > 0 && block.unreadable !== known?.unreadable)
      logger.error('NATS cannot read transactions of the log, because its disk has changed them', {
        indexes: missing.map(rangeText).join(', '),
        count: block.unreadable,
        ...more,
      });
    if (block.isChanged && known?.isChanged !== true)
      logger.error('transactions of the log are not what they were when they were first read', {
        indexes: rangeText(block),
        ...more,
      });
    if (known && isDamaged(known) && !isDamaged(block))
      logger.info('transactions of the log that were damaged are sound again', { indexes: rangeText(block) });
  }
}

const rangeText = ({ first, last }: IndexRange): string => (first === last ? `${first}` : `${first}-${last}`);
