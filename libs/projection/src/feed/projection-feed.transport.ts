import type { Subscription } from '@nats-io/transport-node';
import type { Logger } from '@waybill/telemetry';
import { type Announcement, ANNOUNCEMENT_SUBJECT, decodeAnnouncement } from './announcement.js';

/** The members of a NATS connection that are used here. */
export interface AnnouncementConnection {
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: { string(): string }) => void },
  ): Pick<Subscription, 'unsubscribe'>;
}

/**
 * Passes the projector's announcements to a `ProjectionFeed` or a similar receiver. The client keeps the subscription
 * over reconnects. Call `resync()` of a `ProjectionFeed` after each reconnect, because announcements may have been
 * missed. Returns a function that stops.
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
