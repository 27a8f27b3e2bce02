import { isIP } from 'node:net';

/** A `Host` header: a name or an address (IPv6 in brackets), with or without a port. */
const HOST_HEADER = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,255}))(?::\d{1,5})?$/;
export const LOOPBACK_NAMES = ['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback'];
/** The setting that stands for every name. */
const ANY = '*';

/** Returns the name or address of a `Host` header in lower case, or undefined if it is malformed. */
export function hostIn(header: string): string | undefined {
  const [, address, name] = HOST_HEADER.exec(header) ?? [];
  const host = (address ?? name)?.toLowerCase();
  if (address !== undefined && isIP(address) !== 6) return undefined;
  return host?.endsWith('.') ? host.slice(0, -1) : host;
}

/**
 * The names of a server. The owner of a name can point it at any address. So a page loaded from `evil.example` can
 * reach a server on the reader's machine as its own origin once that name resolves to it (DNS rebinding). A server that
 * answers only under its own names is safe. Every address counts as its own, because nobody can redirect an address,
 * and probes, port mappings and load balancers use addresses that the machine does not know.
 */
export class ServerNames {
  private readonly exact: ReadonlySet<string>;
  /** Suffixes, each with a leading dot. */
  private readonly suffixes: readonly string[];

  /** @param names in addition to those of the loopback; `.example.com` is every name below it, `*` every name */
  constructor(names: Iterable<string>) {
    const all = [...names].map((name) => name.toLowerCase());
    this.exact = new Set([...LOOPBACK_NAMES, ...all]);
    this.suffixes = all.filter((name) => name.startsWith('.'));
  }

  /** @param host a result of `hostIn` */
  has(host: string): boolean {
    if (isIP(host) !== 0 || this.exact.has(host) || this.exact.has(ANY)) return true;
    return this.suffixes.some((suffix) => host.length > suffix.length && host.endsWith(suffix));
  }
}
