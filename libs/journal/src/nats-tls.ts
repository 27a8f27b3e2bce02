import { isIP } from 'node:net';
import { checkServerIdentity, type ConnectionOptions, type PeerCertificate } from 'node:tls';
import type { TlsOptions } from '@nats-io/transport-node';

/** Files in PEM; empty or absent: the authorities of the system, no certificate of our own. Read at every connection. */
export interface NatsTlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

/** What the client passes on to node as it is, beside what it knows itself. */
type NodeOptions = Pick<ConnectionOptions, 'minVersion' | 'checkServerIdentity'>;

/** What the client calls a server that it knows by its address only. */
const NAMELESS = 'localhost';

/**
 * The client's options for servers of which one is `tls://`; undefined: none is. With them a server without TLS is not
 * spoken to, whatever it says of itself: an address of `tls://` is never reached in clear.
 */
export function natsTls(servers: readonly string[], files: NatsTlsFiles = {}): (TlsOptions & NodeOptions) | undefined {
  if (!servers.some((server) => server.startsWith('tls://'))) return undefined;
  const { caFile, certFile, keyFile, minVersion = 'TLSv1.2' } = files;
  return {
    ...(caFile && { caFile }),
    ...(certFile && { certFile }),
    ...(keyFile && { keyFile }),
    minVersion,
    checkServerIdentity: identityCheck(servers.map(hostOf)),
  };
}

/**
 * Checks the name that a server was asked for by. For a server that is known by its IP address only, the client names none
 * and node would check `localhost`: its certificate has to be for one of the addresses that are configured.
 */
export function identityCheck(hosts: readonly string[]) {
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  return (name: string, certificate: PeerCertificate): Error | undefined => {
    if (name !== NAMELESS || hosts.includes(NAMELESS) || addresses.length === 0)
      return checkServerIdentity(name, certificate);
    const failures = addresses.map((address) => checkServerIdentity(address, certificate));
    return failures.includes(undefined) ? undefined : failures[0];
  };
}

function hostOf(server: string): string {
  const { hostname } = new URL(server.replace(/^(nats|tls):\/\//, 'http://').replace(/^(?!http:)/, 'http://'));
  return hostname.replaceAll(/^\[|\]$/g, '');
}
