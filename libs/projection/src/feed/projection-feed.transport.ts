import type { Subscription } from '@nats-io/transport-node';
import type { Logger } from '@waybill/telemetry';
import { type Announcement, ANNOUNCEMENT_SUBJECT, decodeAnnouncement } from './announcement.js';

/** The part of a NATS connection that is used here. */
export interface AnnouncementConnection {
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: { string(): string }) => void },
  ): Pick<Subscription, 'unsubscribe'>;
}

/**
 * Feeds the projector's announcements into a feed, a `ProjectionFeed` or somebody who needs less. The client keeps the
 * subscription over reconnects; call `resync()` of a `ProjectionFeed` after each, as announcements may have been missed
 * meanwhile. Returns the way to stop.
 */
export function subscribeToAnnouncements(
  connection: AnnouncementConnection,
  feed: { receive(announcement: Announcement): void },
  logger: Logger,
): () => void {
  const subscription = connection.subscribe(ANNOUNCEMENT_SUBJECT, {
    callback: (error, message) => {
      if (error) return;
      try {
        feed.receive(decodeAnnouncement(message.string()));
      } catch (reason) {
        logger.warn('an announcement of the projector could not be read', { error: reason });
      }
    },
  });
  return () => subscription.unsubscribe();
}
