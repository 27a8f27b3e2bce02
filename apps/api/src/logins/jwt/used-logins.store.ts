import { jetstream } from '@nats-io/jetstream';
import { API_TIMEOUT_MS, isWrongLastSequence, type NatsLink, USED_LOGINS_STREAM } from '@waybill/journal';
import { type Clock, errorText } from '@waybill/model';
import { unavailable } from '../../http/api-error.js';
import type { UsedLogins } from './used-logins.js';

/** A JWT that says that it lives longer is forgotten after this, milliseconds. */
export const MAX_REMEMBERED_MS = 365 * 24 * 3_600_000;

/**
 * Used JWTs in the stream USED_LOGINS, which all APIs share: one empty message for each, which the server drops when the
 * JWT has expired. The subject is a keyed hash, so that NATS knows no token. Limit: MAX_USED_LOGINS; a new one is refused
 * then, because one that is not remembered could log in twice. Cost: a message for each login.
 */
export class NatsUsedLogins implements UsedLogins {
  constructor(
    private readonly link: NatsLink,
    private readonly clock: Clock,
    /** Keyed; asked only while access control is on. */
    private readonly hash: (secret: string) => string,
  ) {}

  async claim(method: string, jti: string, untilMs: number): Promise<boolean> {
    const leftMs = Math.min(untilMs - this.clock.nowMs(), MAX_REMEMBERED_MS);
    try {
      await jetstream(this.link.nc, { timeout: API_TIMEOUT_MS }).publish(this.subjectOf(method, jti), undefined, {
        expect: { lastSubjectSequence: 0 },
        ttl: `${Math.max(1, Math.ceil(leftMs / 1_000))}s`,
      });
      return true;
    } catch (error) {
      if (isWrongLastSequence(error)) return false;
      throw unavailable(`that this token logs in cannot be stored now: ${errorText(error)}`);
    }
  }

  private subjectOf(method: string, jti: string): string {
    return `${USED_LOGINS_STREAM}.${this.hash(`used login ${JSON.stringify([method, jti])}`)}`;
  }
}
