import { isIP } from 'node:net';
import { checkServerIdentity, type ConnectionOptions, type PeerCertificate } from 'node:tls';
import type { TlsOptions } from '@nats-io/transport-node';

/** Files in PEM; empty or absent: the system's authorities, and no client certificate. Read at every connection. */
export interface NatsTlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

/** Options that the client passes on to node unchanged, beside those that it knows itself. */
type NodeOptions = Pick<ConnectionOptions, 'minVersion' | 'checkServerIdentity'>;

/** The client's name for a server that is known by its address only. */
const NAMELESS = 'localhost';

/**
 * The client's TLS options, if one of the servers is `tls://`; else undefined. With them the client uses no server
 * without TLS, whatever the server says: an address of `tls://` is never reached in clear text.
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
 * Checks a server's certificate against the name that was asked for. For a server that is known by its IP address only,
 * the client passes no name and node would check `localhost`: its certificate must then be for one of the configured
 * addresses.
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
