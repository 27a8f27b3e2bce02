import type { StoredFrame } from './event-frame.js';
import { EventRoutes, type Interest } from './event-routes.js';

/** A frame, or the position after it: its index, and the sequence of a message. */
export interface Position {
  readonly index: number;
  readonly sequence: number;
}

/** The result of a wait. */
export interface Waited {
  /** The frames that concern the reader, in order, each with the preceding sequence. */
  readonly concerning: readonly Position[];
  /** The reader's position afterwards. Other frames that became visible do not concern it. */
  readonly to: Position;
}

interface Waiting {
  /** Frames before this one do not concern the reader. */
  readonly from: number;
  readonly concern: (frame: Position) => void;
  readonly release: () => void;
}

/**
 * Readers that are up to date, indexed by their interests (EV-72). A frame that becomes visible finds the readers that
 * it concerns, and these get only their frames. So when many frames become visible at once, a reader of one job does
 * not process those of all others. Cost of a frame: its events and its matches. Memory: a position for each frame that
 * a reader is about to get.
 */
export class WaitingReaders {
  private readonly all = new Set<Waiting>();
  private readonly routes = new EventRoutes<Waiting>();
  /** Frames up to this one have been matched, so no waiting reader needs them. */
  private at: Position = { index: 0, sequence: 0 };

  /** Frames up to this index concern no waiting reader. */
  get routedTo(): number {
    return this.at.index;
  }

  /**
   * Waits until a frame concerns the reader, or `signal` is aborted.
   * @param from next index of the reader
   */
  wait(from: number, interests: readonly Interest[], signal: AbortSignal): Promise<Waited> {
    return new Promise((resolve) => {
      const concerning: Position[] = [];
      const waiting: Waiting = {
        from,
        concern: ({ index }) => {
          // A frame matches a reader once per event.
          if (concerning.at(-1)?.index !== index) concerning.push({ index, sequence: this.at.sequence });
        },
        release: () => {
          this.all.delete(waiting);
          this.routes.remove(interests, waiting);
          signal.removeEventListener('abort', waiting.release);
          resolve({ concerning, to: this.at });
        },
      };
      this.all.add(waiting);
      this.routes.add(interests, waiting);
      signal.addEventListener('abort', waiting.release);
    });
  }

  /** Matches frames that have become visible, in order. The first one directly follows those before. */
  route(visible: Iterable<StoredFrame>): void {
    const found = new Set<Waiting>();
    for (const frame of visible) {
      if (this.all.size > 0)
        for (const event of frame.events)
          this.routes.find(event, (one) => {
            if (frame.index < one.from) return;
            one.concern(frame);
            found.add(one);
          });
      this.at = { index: frame.index, sequence: frame.sequence };
    }
    for (const one of found) one.release();
  }

  /** Sets the start. Frames before it existed before any reader waited, so they concern none. */
  beginAt(position: Position): void {
    this.at = position;
  }

  releaseAll(): void {
    for (const one of this.all) one.release();
  }
}
