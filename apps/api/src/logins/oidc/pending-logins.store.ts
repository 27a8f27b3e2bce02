import { jetstream, JetStreamApiError, type StoredMsg } from '@nats-io/jetstream';
import { API_TIMEOUT_MS, isWrongLastSequence, LOGINS_STREAM, managerOf, type NatsLink } from '@waybill/journal';
import { errorText } from '@waybill/model';
import { z } from 'zod';
import { ApiError, unavailable } from '../../http/api-error.js';
import type { PendingLogin, PendingLogins } from './pending-login.js';

/** LoginSeals encrypts a login before NATS stores it, and finds it again. `TokenSecrets` implements it. */
export interface LoginSeals {
  hash(secret: string): string;
  seal(about: string, text: string): string;
  open(about: string, sealed: string): string;
}

const STORED = z.object({
  method: z.string(),
  methodHash: z.string().optional(),
  redirectUri: z.string(),
  state: z.string(),
  verifier: z.string().optional(),
  begunMs: z.number(),
});

/** The error code for a stream that already holds MAX_PENDING_LOGINS. */
const STORE_FAILED = 10_077;

/**
 * NatsPendingLogins keeps pending logins in the stream LOGINS: one message for each nonce, which the server drops after
 * LOGIN_PENDING_MS. A login that began at one API can be completed at another (AU-94). The subject is a keyed hash of
 * the nonce, and the message is encrypted for it, so that NATS and its disks know neither nonces, nor states, nor
 * verifiers.
 *
 * If several callers begin with one nonce, the server accepts the first. If several take it out, one of them deletes
 * the message.
 */
export class NatsPendingLogins implements PendingLogins {
  constructor(
    private readonly link: NatsLink,
    /** The function is called only while access control is on. */
    private readonly seals: () => LoginSeals,
  ) {}

  async beginLogin(nonce: string, login: PendingLogin): Promise<PendingLogin> {
    const key = this.keyOf(nonce);
    // The existing login may have expired between the two requests.
    for (let attempt = 0; attempt < 2; attempt++) {
      if (await this.putLogin(key, login)) return login;
      const kept = await this.get(key);
      if (kept) return this.openLogin(key, kept);
    }
    throw unavailable('the login cannot be stored; try again');
  }

  async find(nonce: string): Promise<PendingLogin | undefined> {
    const key = this.keyOf(nonce);
    const kept = await this.get(key);
    return kept && this.openLogin(key, kept);
  }

  async takeLogin(nonce: string): Promise<PendingLogin | undefined> {
    const key = this.keyOf(nonce);
    const kept = await this.get(key);
    if (!kept || !(await this.remove(kept.seq))) return undefined;
    return this.openLogin(key, kept);
  }

  private keyOf(nonce: string): string {
    return this.seals().hash(`login ${nonce}`);
  }

  /** Stores a login. The result is false if there is one already. */
  private async putLogin(key: string, login: PendingLogin): Promise<boolean> {
    try {
      await jetstream(this.link.nc, { timeout: API_TIMEOUT_MS }).publish(
        subjectOf(key),
        this.seals().seal(aboutOf(key), JSON.stringify(login)),
        { expect: { lastSubjectSequence: 0 } },
      );
      return true;
    } catch (error) {
      if (isWrongLastSequence(error)) return false;
      if (error instanceof JetStreamApiError && error.code === STORE_FAILED)
        throw new ApiError(429, 'error storing OIDC request: too many auth requests');
      throw notReachable(error);
    }
  }

  private async get(key: string): Promise<StoredMsg | undefined> {
    try {
      const manager = await managerOf(this.link);
      return (await manager.streams.getMessage(LOGINS_STREAM, { last_by_subj: subjectOf(key) })) ?? undefined;
    } catch (error) {
      throw notReachable(error);
    }
  }

  /** Deletes a message. The result is false if another caller has deleted it. */
  private async remove(seq: number): Promise<boolean> {
    try {
      const manager = await managerOf(this.link);
      return await manager.streams.deleteMessage(LOGINS_STREAM, seq, true);
    } catch (error) {
      if (error instanceof JetStreamApiError) return false;
      throw notReachable(error);
    }
  }

  private openLogin(key: string, { data }: StoredMsg): PendingLogin {
    return STORED.parse(JSON.parse(this.seals().open(aboutOf(key), Buffer.from(data).toString())));
  }
}

const subjectOf = (key: string): string => `${LOGINS_STREAM}.${key}`;
const aboutOf = (key: string): string => `login ${key}`;

const notReachable = (error: unknown): Error => unavailable(`logins cannot be stored now: ${errorText(error)}`);
