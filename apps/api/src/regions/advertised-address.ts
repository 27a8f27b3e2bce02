import type { Settings } from '@waybill/service';

type Addresses = Pick<Settings, 'WAYBILL_HTTP_ADVERTISE' | 'WAYBILL_HTTP_HOST' | 'WAYBILL_HTTP_PORT'>;

/**
 * Addresses that stand for every address of a machine. A server can listen on them, and nobody can reach it at them.
 */
const ANYWHERE = new Set(['0.0.0.0', '::']);

/** Returns the `host:port` at which other regions find this API. */
export function advertisedAddress({
  WAYBILL_HTTP_ADVERTISE,
  WAYBILL_HTTP_HOST: host,
  WAYBILL_HTTP_PORT,
}: Addresses): string {
  return WAYBILL_HTTP_ADVERTISE || `${host.includes(':') ? `[${host}]` : host}:${WAYBILL_HTTP_PORT}`;
}

/** Says whether the advertised address leads every caller to its own machine. */
export const leadsNowhere = ({ WAYBILL_HTTP_ADVERTISE, WAYBILL_HTTP_HOST }: Addresses): boolean =>
  WAYBILL_HTTP_ADVERTISE === '' && ANYWHERE.has(WAYBILL_HTTP_HOST);
