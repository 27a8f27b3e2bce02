import { decodeAnnouncement, type ProjectionFeed } from '@waybill/projection';
import type { Announcer } from '@waybill/projector';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { frozen } from './frozen.js';
import type { Wire } from './wire.js';

type Receiver = Pick<ProjectionFeed, 'receive'>;

/** The core NATS subject on which the projector says how far it is; plain messages, which may be lost. */
export class AnnouncementChannel {
  private readonly feeds = new Map<Receiver, SimulatedProcess>();

  constructor(private readonly wire: Wire) {}

  /** @returns ends it; it ends with the process too */
  subscribe(process: SimulatedProcess, feed: Receiver): () => void {
    for (const [known, its] of this.feeds) if (!its.isAlive) this.feeds.delete(known);
    this.feeds.set(feed, process);
    return () => this.feeds.delete(feed);
  }

  announcerOf(process: SimulatedProcess): Announcer {
    return {
      send: (announcement) =>
        this.wire.toNats(process, 'announcement', () => {
          const announced = frozen(decodeAnnouncement(announcement));
          for (const [feed, receiver] of this.feeds)
            if (!this.wire.happens('loss'))
              this.wire.toProcess(receiver, 'announcement', () => feed.receive(announced));
        }),
    };
  }
}
