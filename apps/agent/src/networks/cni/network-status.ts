import type { AllocNetworkStatus, DNSConfig } from '@waybill/model';
import type { CniResult } from './cni-plugins.transport.js';

/** NoAddressError says that the plugins gave the allocation no address. */
export class NoAddressError extends Error {
  override readonly name = 'NoAddressError';
}

interface NamedInterface {
  readonly name: string;
  readonly isInside: boolean;
  /** The addresses without prefix lengths. */
  readonly addresses: readonly string[];
}

/**
 * Returns the servers' view of an allocation's network (NW-61): the first interface by name that is inside and has an
 * address, else the first that has an address. If an allocation has only an IPv6 address, its `Address` is that one,
 * too.
 * @throws NoAddressError
 */
export function statusOf(result: CniResult): AllocNetworkStatus {
  const interfaces = interfacesOf(result);
  if (interfaces.length === 0) throw new NoAddressError('no interfaces found');
  const known = interfaces.filter(({ name, addresses }) => name !== 'lo' && addresses.length > 0);
  const found = known.find(({ isInside }) => isInside) ?? known[0];
  if (!found) throw new NoAddressError('no interface with an address');
  const ipv4 = found.addresses.find((address) => !isIPv6(address));
  const ipv6 = found.addresses.find(isIPv6) ?? '';
  return { InterfaceName: found.name, Address: ipv4 ?? ipv6, AddressIPv6: ipv6, DNS: dnsOf(result) };
}

function interfacesOf({ interfaces, ips }: CniResult): NamedInterface[] {
  return (interfaces ?? [])
    .map(({ name, sandbox }, at) => ({
      name,
      isInside: (sandbox ?? '') !== '',
      addresses: (ips ?? [])
        .filter((ip) => ip.interface === at)
        .map(({ address }) => address.slice(0, address.includes('/') ? address.indexOf('/') : undefined)),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const isIPv6 = (address: string): boolean => address.includes(':');

function dnsOf({ dns }: CniResult): DNSConfig | null {
  if (!dns?.nameservers?.length) return null;
  return { Servers: dns.nameservers, Searches: dns.search ?? [], Options: dns.options ?? [] };
}
