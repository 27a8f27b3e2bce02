import type { Settings } from '@waybill/service';

type Addresses = Pick<Settings, 'WAYBILL_HTTP_ADVERTISE' | 'WAYBILL_HTTP_HOST' | 'WAYBILL_HTTP_PORT'>;

/** Every address of a machine: to listen at, not to be reached at. */
const ANYWHERE = new Set(['0.0.0.0', '::']);

/** `host:port` at which other regions are told to find this API. */
export function advertisedAddress({
  WAYBILL_HTTP_ADVERTISE,
  WAYBILL_HTTP_HOST: host,
  WAYBILL_HTTP_PORT,
}: Addresses): string {
  return WAYBILL_HTTP_ADVERTISE || `${host.includes(':') ? `[${host}]` : host}:${WAYBILL_HTTP_PORT}`;
}

/** What is told leads whoever goes there to itself. */
export const leadsNowhere = ({ WAYBILL_HTTP_ADVERTISE, WAYBILL_HTTP_HOST }: Addresses): boolean =>
  WAYBILL_HTTP_ADVERTISE === '' && ANYWHERE.has(WAYBILL_HTTP_HOST);
