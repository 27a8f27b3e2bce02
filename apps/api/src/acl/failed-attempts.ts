import { type Clock, DecodeError, Refusal, type RefusalCode } from '@waybill/model';
import { AddressQuota } from '../http/address-quota.js';
import { ApiError } from '../http/api-error.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

const WINDOW_MS = 60_000;
const MS_PER_S = 1_000;
const TOO_MANY = 429;

/** Failures that are the server's, and no guess of the caller. */
const OF_THE_SERVER: ReadonlySet<RefusalCode> = new Set(['limit', 'unavailable']);

/**
 * How often one address may fail to get a token from calls that need none: logins, bootstrap, one-time tokens (AU-8). A
 * success does not count, nor does what the server cannot do now. Attempts that are under way do not count yet.
 */
export class FailedAttempts {
  private readonly quota: AddressQuota;

  /** @param perMinute 0: no limit */
  constructor(perMinute: number, clock: Clock) {
    this.quota = new AddressQuota({ most: perMinute, windowMs: WINDOW_MS, clock });
  }

  /** Runs an attempt, and counts it if it fails. @throws ApiError 429 with `Retry-After`: too many have failed; what `attempt` throws */
  async guard(request: ApiRequest, reply: ApiReply, attempt: () => Promise<void>): Promise<void> {
    const address = addressOf(request);
    const waitS = Math.ceil(this.quota.waitMs(address) / MS_PER_S);
    if (waitS > 0) {
      reply.header('Retry-After', waitS);
      throw new ApiError(TOO_MANY, `too many failed attempts from this address; try again in ${waitS} s`);
    }
    try {
      await attempt();
    } catch (error) {
      if (isCallersFault(error)) this.quota.count(address);
      throw error;
    }
  }
}

/** Where a request comes from; behind a proxy, the proxy. */
export const addressOf = ({ raw }: Pick<ApiRequest, 'raw'>): string => raw.socket.remoteAddress ?? '';

function isCallersFault(error: unknown): boolean {
  if (error instanceof Refusal) return !OF_THE_SERVER.has(error.code);
  return error instanceof DecodeError || (error instanceof ApiError && error.status !== TOO_MANY);
}
