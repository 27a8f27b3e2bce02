import { decodeAnnouncement, type ProjectionFeed } from '@waybill/projection';
import type { Announcer } from '@waybill/projector';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Wire } from './wire.js';

/** The core NATS subject on which the projector says how far it is; plain messages, which may be lost. */
export class AnnouncementChannel {
  private readonly feeds = new Map<SimulatedProcess, ProjectionFeed>();

  constructor(private readonly wire: Wire) {}

  subscribe(process: SimulatedProcess, feed: ProjectionFeed): void {
    for (const known of this.feeds.keys()) if (!known.isAlive) this.feeds.delete(known);
    this.feeds.set(process, feed);
  }

  announcerOf(process: SimulatedProcess): Announcer {
    return {
      send: (announcement) =>
        this.wire.toNats(process, 'announcement', () => {
          for (const [receiver, feed] of this.feeds)
            if (!this.wire.happens('loss'))
              this.wire.toProcess(receiver, 'announcement', () => feed.receive(decodeAnnouncement(announcement)));
        }),
    };
  }
}
