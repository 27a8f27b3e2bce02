import { BlockList, isIP } from 'node:net';
import type { Settings } from '../settings.js';
import { LOOPBACK_NAMES } from './server-names.js';

type Listening = Pick<Settings, 'WAYBILL_HTTP_HOST' | 'WAYBILL_ACL_ENABLED' | 'WAYBILL_HTTP_ALLOW_UNPROTECTED'>;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Whether only programs of this machine can reach the address. A name other than those of the loopback may be any
 * address.
 */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return LOOPBACK_NAMES.includes(host.toLowerCase());
  return LOOPBACK.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Returns why the API does not start with these settings: other machines could reach it and do everything. The line
 * names both solutions.
 */
export function unprotectedListening(settings: Listening): string[] {
  const { WAYBILL_HTTP_HOST: host } = settings;
  if (settings.WAYBILL_ACL_ENABLED || settings.WAYBILL_HTTP_ALLOW_UNPROTECTED || isLoopback(host)) return [];
  return [
    `WAYBILL_HTTP_HOST=${host} is not the loopback, and access control is off: everybody who reaches the API could run programs on every machine. ` +
      'Turn access control on (npm start -- --acl; a service: WAYBILL_ACL_ENABLED=true and WAYBILL_ACL_KEY_FILE), ' +
      'or set WAYBILL_HTTP_ALLOW_UNPROTECTED=true if only those reach it who may do that',
  ];
}
