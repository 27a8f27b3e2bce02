import { jetstream } from '@nats-io/jetstream';
import { API_TIMEOUT_MS, isWrongLastSequence, type NatsLink, USED_LOGINS_STREAM } from '@waybill/journal';
import { type Clock, errorText } from '@waybill/model';
import { unavailable } from '../../http/api-error.js';
import type { UsedLogins } from './used-logins.js';

/** The longest time in milliseconds for which a JWT is remembered, even if its expiry is later. */
export const MAX_REMEMBERED_MS = 365 * 24 * 3_600_000;

/**
 * NatsUsedLogins keeps used JWTs in the stream USED_LOGINS, which all APIs share. Each is an empty message that the
 * server drops when the JWT has expired. The subject is a keyed hash, so that NATS does not know the token. Limit:
 * MAX_USED_LOGINS; then a new JWT is refused, because one that is not remembered could log in twice. Cost: a message
 * for each login.
 */
export class NatsUsedLogins implements UsedLogins {
  constructor(
    private readonly link: NatsLink,
    private readonly clock: Clock,
    /** The keyed hashes, one for each key of access control. It is called only while access control is on. */
    private readonly hashes: (secret: string) => readonly string[],
  ) {}

  /** While the key of access control changes, a JWT is claimed under both keys, in one order at all APIs. */
  async claim(method: string, jti: string, untilMs: number): Promise<boolean> {
    const leftMs = Math.min(untilMs - this.clock.nowMs(), MAX_REMEMBERED_MS);
    for (const subject of this.subjectsOf(method, jti)) if (!(await this.claimSubject(subject, leftMs))) return false;
    return true;
  }

  private async claimSubject(subject: string, leftMs: number): Promise<boolean> {
    try {
      await jetstream(this.link.nc, { timeout: API_TIMEOUT_MS }).publish(subject, undefined, {
        expect: { lastSubjectSequence: 0 },
        ttl: `${Math.max(1, Math.ceil(leftMs / 1_000))}s`,
      });
      return true;
    } catch (error) {
      if (isWrongLastSequence(error)) return false;
      throw unavailable(`that this token logs in cannot be stored now: ${errorText(error)}`);
    }
  }

  private subjectsOf(method: string, jti: string): readonly string[] {
    const hashes = this.hashes(`used login ${JSON.stringify([method, jti])}`);
    return hashes.map((hash) => `${USED_LOGINS_STREAM}.${hash}`).toSorted();
  }
}
