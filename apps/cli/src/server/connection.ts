import type { Environment } from './environment.js';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CommandFailure, causeOf } from '../failure.js';
import { booleanOf, type ParsedFlags } from '../flags/parsed-flags.js';
import { proxiesFrom, type ProxySettings } from './proxy.js';

/** Longest reason that is sent. */
const MAX_REASON = 256;
const DEFAULT_ADDRESS = 'http://127.0.0.1:4646';

/** Content of the files for TLS. */
export interface TlsMaterial {
  readonly ca?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}

/** Address of the server and settings for the connection. */
export interface Connection {
  /** Address without user, password, query and fragment. */
  readonly url: URL;
  /** Set if the address is a Unix socket. */
  readonly socketPath?: string;
  readonly region?: string;
  readonly namespace?: string;
  readonly token?: string;
  /** `user:password` for HTTP basic authentication. */
  readonly basicAuth?: string;
  readonly reason?: string;
  readonly tls?: TlsMaterial;
  readonly proxies?: ProxySettings;
}

/**
 * Reads the settings from the flag, `WAYBILL_*`, `NOMAD_*` or the default, in this order. An empty value counts as
 * absent (CL-121). @throws CommandFailure
 */
export function connectionFrom(flags: ParsedFlags, env: Environment): Connection {
  const setting = (flag: string, name: string) => flags.text(flag) ?? environmentOf(env, name);
  const address = setting('address', 'ADDR') ?? DEFAULT_ADDRESS;
  const { url, socketPath, basicAuth } = parseAddress(address);
  return {
    url,
    ...defined({ socketPath }),
    ...defined({ region: setting('region', 'REGION') }),
    ...defined({ namespace: flags.has('namespace') ? setting('namespace', 'NAMESPACE') : undefined }),
    ...defined({ token: setting('token', 'TOKEN') }),
    ...defined({ basicAuth: basicAuth ?? environmentOf(env, 'HTTP_AUTH') }),
    ...defined({ reason: (flags.text('reason') ?? nonEmpty(env['WAYBILL_REASON']))?.slice(0, MAX_REASON) }),
    ...defined({ proxies: proxiesFrom(env) }),
    ...(url.protocol === 'https:' || wantsTls(flags, env, setting) ? { tls: tlsMaterial(flags, env, setting) } : {}),
  };
}

/** Returns the first non-empty value of `WAYBILL_<name>` and `NOMAD_<name>`. */
export const environmentOf = (env: Environment, name: string): string | undefined => environmentNameOf(env, name)?.[1];

/** Returns that value with the full name of its variable. */
export function environmentNameOf(env: Environment, name: string): readonly [name: string, value: string] | undefined {
  for (const full of [`WAYBILL_${name}`, `NOMAD_${name}`]) {
    const value = nonEmpty(env[full]);
    if (value !== undefined) return [full, value];
  }
  return undefined;
}

/** Parses an address (CL-122). @throws CommandFailure */
function parseAddress(address: string): { url: URL; socketPath?: string; basicAuth?: string } {
  const invalid = (why: string) =>
    new CommandFailure(`Error initializing client: invalid address '${withoutUser(address)}': ${why}`);
  if (address.startsWith('unix://')) {
    const socketPath = address.slice('unix://'.length);
    if (socketPath === '') throw invalid('no socket path');
    return { url: new URL('http://localhost'), socketPath };
  }
  let url: URL;
  try {
    url = new URL(address);
  } catch (error) {
    throw invalid(withoutScheme(address) ?? causeOf(error));
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid(withoutScheme(address) ?? 'the scheme is none of http, https, unix');
  const user =
    url.username === '' ? undefined : `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const bare = new URL(url.pathname.replace(/\/$/, ''), `${url.protocol}//${url.host}`);
  return { url: bare, ...defined({ basicAuth: user }) };
}

/** Suggests a correction if only the scheme is missing. */
const withoutScheme = (address: string): string | undefined =>
  !address.includes('://') && URL.canParse(`http://${address}`)
    ? `it has no scheme, write http://${withoutUser(address)}`
    : undefined;

/** Removes the user and password from an address before it is shown (CL-128). */
const withoutUser = (address: string): string => address.replace(/^(\w+:\/\/)?[^/@]*@/, '$1');

/** Whether TLS settings are given. An address of `operator api` without a scheme is https then (CL-802). */
function wantsTls(
  flags: ParsedFlags,
  env: Environment,
  setting: (flag: string, name: string) => string | undefined,
): boolean {
  return skipsVerification(flags, env) || TLS_SETTINGS.some(([flag, name]) => setting(flag, name) !== undefined);
}

const TLS_SETTINGS = [
  ['ca-cert', 'CACERT'],
  ['ca-path', 'CAPATH'],
  ['client-cert', 'CLIENT_CERT'],
  ['tls-server-name', 'TLS_SERVER_NAME'],
] as const;

const skipsVerification = (flags: ParsedFlags, env: Environment): boolean =>
  flags.on('tls-skip-verify') || flags.on('insecure') || booleanOf(environmentOf(env, 'SKIP_VERIFY') ?? '') === true;

function tlsMaterial(
  flags: ParsedFlags,
  env: Environment,
  setting: (flag: string, name: string) => string | undefined,
): TlsMaterial {
  const cert = setting('client-cert', 'CLIENT_CERT');
  const key = setting('client-key', 'CLIENT_KEY');
  if ((cert === undefined) !== (key === undefined))
    throw new CommandFailure('Error initializing client: Both client cert and client key must be provided');
  try {
    const caFile = setting('ca-cert', 'CACERT');
    const caDir = setting('ca-path', 'CAPATH');
    const ca = caFile !== undefined ? [pem(caFile)] : caDir === undefined ? undefined : pemsIn(caDir);
    return {
      rejectUnauthorized: !skipsVerification(flags, env),
      ...defined({ ca }),
      ...defined({ cert: cert === undefined ? undefined : pem(cert) }),
      ...defined({ key: key === undefined ? undefined : pem(key) }),
      ...defined({ servername: setting('tls-server-name', 'TLS_SERVER_NAME') }),
    };
  } catch (error) {
    throw new CommandFailure(`Error initializing client: ${causeOf(error)}`);
  }
}

const pem = (file: string): string => readFileSync(file, 'utf8');

const pemsIn = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => pem(path.join(directory, entry.name)));

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Returns the members that are not undefined. */
function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
