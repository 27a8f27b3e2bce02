import type { LogBounds, RawCursor } from '@waybill/journal';
import type { HashedBlock, LogDamage, ScrubStanding } from '@waybill/projection';

/** ScrubbedLog is the log as it is stored. */
export interface ScrubbedLog {
  bounds(): Promise<LogBounds>;
  /** Returns the servers that keep a copy, always in the same order. The list is empty if there is only one server. */
  copies(): Promise<readonly string[]>;
  /** @param copy the server whose copy is to be read, if that is possible */
  open(from: number, copy?: string): Promise<RawCursor>;
}

/** ScrubMemory keeps what earlier passes found. */
export interface ScrubMemory {
  /** Returns the last index that is known to be projected. Scrubbing reads the log only up to it. */
  appliedIndex(): Promise<number>;
  standing(): Promise<ScrubStanding>;
  /** Forgets what the log no longer contains. @param first the first index of the log */
  begin(first: number, standing: ScrubStanding): Promise<void>;
  /** @param first the first index of the block */
  block(first: number): Promise<HashedBlock | undefined>;
  save(block: HashedBlock, standing: ScrubStanding): Promise<void>;
  end(standing: ScrubStanding): Promise<void>;
  damage(): Promise<LogDamage>;
}
