import { API_TIMEOUT_MS } from './streams.js';
import type { NatsLink } from './connection.js';
import { TXN_STREAM } from './subject.js';

/** Time of day by the clock of NATS, and how long the answer took. Milliseconds. */
export interface ServerTime {
  readonly unixMs: number;
  readonly tripMs: number;
}

/**
 * Asks NATS for the time: each answer of JetStream's API contains it. Servers before 2.10 omit it.
 * @returns undefined if the answer contains no time
 * @throws any error of the request
 */
export async function serverTime({ nc }: NatsLink): Promise<ServerTime | undefined> {
  const sentMs = performance.now();
  const answer = await nc.request(`$JS.API.STREAM.INFO.${TXN_STREAM}`, undefined, { timeout: API_TIMEOUT_MS });
  const tripMs = performance.now() - sentMs;
  const { ts } = answer.json<{ readonly ts?: string }>();
  const unixMs = ts === undefined ? Number.NaN : Date.parse(ts);
  return Number.isNaN(unixMs) ? undefined : { unixMs, tripMs };
}
