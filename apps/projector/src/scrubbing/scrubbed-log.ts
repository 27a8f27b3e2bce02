import type { LogBounds, RawCursor } from '@waybill/journal';
import type { HashedBlock, LogDamage, ScrubStanding } from '@waybill/projection';

/** The log, as it is stored. */
export interface ScrubbedLog {
  bounds(): Promise<LogBounds>;
  /** Servers that keep a copy, in a lasting order; none: there is one server only. */
  copies(): Promise<readonly string[]>;
  /** @param copy whose copy is to be read, if that can be had */
  open(from: number, copy?: string): Promise<RawCursor>;
}

/** What is known of the log from before. */
export interface ScrubMemory {
  /** The last index that is known to be projected: only a log up to there is looked at. */
  appliedIndex(): Promise<number>;
  standing(): Promise<ScrubStanding>;
  /** Forgets what the log, which begins at `first`, has not any more. */
  begin(first: number, standing: ScrubStanding): Promise<void>;
  /** @param first of the block */
  block(first: number): Promise<HashedBlock | undefined>;
  save(block: HashedBlock, standing: ScrubStanding): Promise<void>;
  end(standing: ScrubStanding): Promise<void>;
  damage(): Promise<LogDamage>;
}
