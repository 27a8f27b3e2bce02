import { type Clock, DecodeError, Refusal, type RefusalCode } from '@waybill/model';
import { AddressQuota } from '../http/address-quota.js';
import { ApiError } from '../http/api-error.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

const WINDOW_MS = 60_000;
const MS_PER_S = 1_000;
const TOO_MANY = 429;

/** The codes of failures that are the server's fault and not a wrong guess of the caller. */
const OF_THE_SERVER: ReadonlySet<RefusalCode> = new Set(['limit', 'unavailable']);

/**
 * FailedAttempts limits how often one address may fail to get a token from calls that need none: logins, bootstrap,
 * one-time tokens (AU-8). Successes do not count, nor do failures of the server. An attempt counts only when it has
 * ended.
 */
export class FailedAttempts {
  private readonly quota: AddressQuota;

  /** @param perMinute 0 for no limit */
  constructor(perMinute: number, clock: Clock) {
    this.quota = new AddressQuota({ most: perMinute, windowMs: WINDOW_MS, clock });
  }

  /**
   * Runs an attempt and counts it if it fails. @throws ApiError 429 with `Retry-After` if too many have failed; the
   * errors of `attempt`
   */
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

/** Returns the address from which a request comes. Behind a proxy it is the proxy's. */
export const addressOf = ({ raw }: Pick<ApiRequest, 'raw'>): string => raw.socket.remoteAddress ?? '';

function isCallersFault(error: unknown): boolean {
  if (error instanceof Refusal) return !OF_THE_SERVER.has(error.code);
  return error instanceof DecodeError || (error instanceof ApiError && error.status !== TOO_MANY);
}
