import type { NatsLink } from '@waybill/journal';
import { ANNOUNCEMENT_SUBJECT } from '@waybill/projection';
import type { Announcer } from './projection-store.js';

/**
 * NatsAnnouncer sends announcements as plain NATS messages. It drops them while there is no connection: whoever missed
 * one asks Postgres.
 */
export class NatsAnnouncer implements Announcer {
  constructor(private readonly link: NatsLink) {}

  send(announcement: string): void {
    if (this.link.up) this.link.nc.publish(ANNOUNCEMENT_SUBJECT, announcement);
  }
}
