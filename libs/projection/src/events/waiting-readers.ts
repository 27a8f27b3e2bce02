import type { StoredFrame } from './event-frame.js';
import { EventRoutes, type Interest } from './event-routes.js';

/** A frame, or the place behind it: index, and sequence of a message. */
export interface Position {
  readonly index: number;
  readonly sequence: number;
}

/** What came of waiting. */
export interface Waited {
  /** The frames that concern the reader, in order, each with the sequence before it. */
  readonly concerning: readonly Position[];
  /** Where it is when it has been given them: what else became visible does not concern it. */
  readonly to: Position;
}

interface Waiting {
  /** Frames before this one do not concern it. */
  readonly from: number;
  readonly concern: (frame: Position) => void;
  readonly release: () => void;
}

/**
 * Readers that have been given all there is, each under what it is interested in (EV-72). Frames that become visible
 * find those they concern, who then get these and nothing else: when many become visible at once, a reader of one job
 * does not go through those of all others.
 * Cost: of a frame, its events and whom they concern. Memory: a position for each frame a reader is about to be given.
 */
export class WaitingReaders {
  private readonly all = new Set<Waiting>();
  private readonly routes = new EventRoutes<Waiting>();
  /** Frames up to this one have found those they concern; whoever waits needs none of them. */
  private at: Position = { index: 0, sequence: 0 };

  /** Frames up to this index are known to concern nobody who waits. */
  get routedTo(): number {
    return this.at.index;
  }

  /**
   * Until there is something that concerns it, or it is not to wait any longer.
   * @param from the index it gets next
   */
  wait(from: number, interests: readonly Interest[], signal: AbortSignal): Promise<Waited> {
    return new Promise((resolve) => {
      const concerning: Position[] = [];
      const waiting: Waiting = {
        from,
        concern: ({ index }) => {
          // The events of a frame find it one by one.
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

  /** Frames that have become visible, in order, the first of them right behind those before. */
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

  /** Nothing before this concerns anybody: it was there before anybody waited. */
  beginAt(position: Position): void {
    this.at = position;
  }

  releaseAll(): void {
    for (const one of this.all) one.release();
  }
}
