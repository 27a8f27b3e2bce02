import { NS_PER_HOUR, nsFromMs, Refusal, ROOT_KEY_ALGORITHM } from '@waybill/model';
import { badRequest } from '../../http/api-error.js';
import { boolParam, param, type QueryString } from '../../http/query-string.js';

/** Rotation is a request for a rotation (OP-212). */
export interface Rotation {
  /** Says whether the variables of earlier keys are encrypted anew. */
  readonly full: boolean;
  /** The time at which the new key becomes active, in Unix nanoseconds; 0 for at once. */
  readonly publishTime: number;
}

/**
 * The longest time for which a key may be published before it is active. Until then no other key is made automatically.
 * [GC-82]
 */
export const MAX_PREPUBLISHED_NS = 365 * 24 * NS_PER_HOUR;

const WHOLE_NUMBER = /^-?\d{1,19}$/;

/** @throws Refusal invalid */
export function rotationOf(query: QueryString, nowMs: number): Rotation {
  const algorithm = param(query, 'algo') || ROOT_KEY_ALGORITHM;
  if (algorithm !== ROOT_KEY_ALGORITHM) throw badRequest(`invalid algorithm ${JSON.stringify(algorithm)}`);
  const full = boolParam(query, 'full') ?? param(query, 'full') === '';
  const given = param(query, 'publish_time') || '0';
  if (!WHOLE_NUMBER.test(given)) throw badRequest(`invalid publish_time ${JSON.stringify(given)}: unix nanoseconds`);
  const publishTime = Number(given);
  if (publishTime !== 0 && full)
    throw new Refusal('invalid', 'keyring cannot be prepublished and full rotated at the same time');
  if (publishTime !== 0 && publishTime <= nsFromMs(nowMs))
    throw badRequest('publish_time must be in the future: without it the key becomes active at once');
  if (publishTime > nsFromMs(nowMs) + MAX_PREPUBLISHED_NS) throw badRequest('publish_time must be within a year');
  return { full, publishTime };
}
