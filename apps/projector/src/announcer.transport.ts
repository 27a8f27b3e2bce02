import type { NatsLink } from '@waybill/journal';
import { ANNOUNCEMENT_SUBJECT } from '@waybill/projection';
import type { Announcer } from './projection-store.js';

/** Announcements as plain NATS messages. Without a connection they are dropped: who missed them asks Postgres. */
export class NatsAnnouncer implements Announcer {
  constructor(private readonly link: NatsLink) {}

  send(announcement: string): void {
    if (this.link.up) this.link.nc.publish(ANNOUNCEMENT_SUBJECT, announcement);
  }
}
