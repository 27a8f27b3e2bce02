import { isIP } from 'node:net';

/** A `Host` header: a name or an address, in brackets if it is of version 6, with or without a port. */
const HOST_HEADER = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,255}))(?::\d{1,5})?$/;
export const LOOPBACK_NAMES = ['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback'];
/** As a setting says it: every name. */
const ANY = '*';

/** The name or address that a `Host` header names, in lower case; undefined: the header is malformed. */
export function hostIn(header: string): string | undefined {
  const [, address, name] = HOST_HEADER.exec(header) ?? [];
  const host = (address ?? name)?.toLowerCase();
  if (address !== undefined && isIP(address) !== 6) return undefined;
  return host?.endsWith('.') ? host.slice(0, -1) : host;
}

/**
 * The names under which a server answers. Whoever owns a name can point it at any address, so a page that was loaded from
 * `evil.example` reaches a server on the reader's machine as its own origin once that name leads there (DNS rebinding). A
 * server that answers under its own names only is out of reach. Every address is its own: nobody can redirect an address,
 * and probes, port mappings and load balancers use addresses that the machine does not know of.
 */
export class ServerNames {
  private readonly exact: ReadonlySet<string>;
  /** Each begins with a dot. */
  private readonly suffixes: readonly string[];

  /** @param names beside those of the loopback; `.example.com` is every name below it, `*` every name */
  constructor(names: Iterable<string>) {
    const all = [...names].map((name) => name.toLowerCase());
    this.exact = new Set([...LOOPBACK_NAMES, ...all]);
    this.suffixes = all.filter((name) => name.startsWith('.'));
  }

  /** @param host as `hostIn` answers */
  has(host: string): boolean {
    if (isIP(host) !== 0 || this.exact.has(host) || this.exact.has(ANY)) return true;
    return this.suffixes.some((suffix) => host.length > suffix.length && host.endsWith(suffix));
  }
}
