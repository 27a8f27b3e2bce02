import type { ServerTls } from './server-tls.js';

/** The default listens on the loopback only. */
export const DEFAULT_HOST = '127.0.0.1';
/** The file stands beside the configuration, so that it can be changed alone. */
export const ACCOUNTS_FILE = 'accounts.conf';

export interface NatsConfig {
  /** The address on which the server listens. Default DEFAULT_HOST. */
  readonly host?: string | undefined;
  readonly port: number;
  readonly storeDir: string;
  readonly pidFile: string;
  readonly maxPayloadBytes: number;
  readonly syncInterval: string;
  /**
   * The largest size of streams on disk. If it is undefined, it is three quarters of the free room at the server's
   * start.
   */
  readonly maxFileStoreBytes?: number | undefined;
  /** Says whether ACCOUNTS_FILE limits who may connect. Otherwise anybody may connect and do everything. */
  readonly guarded?: boolean;
  /** If it is set, connections are encrypted and others are refused. */
  readonly tls?: ServerTls | undefined;
}

export type NatsAccounts = Readonly<Record<string, object>>;

/**
 * Returns the configuration file's text. It always sets `sync_interval`: the server's own default leaves acknowledged
 * messages unsynced for two minutes. 100 ms costs up to 8% of the publishing rate, `always` five sixths of it. It sets
 * `max_file_store` to the size of the disk: by default the server takes the room that is free at its start, and a
 * server that started on a full disk would refuse messages for good.
 */
export function natsConfigText(config: NatsConfig): string {
  return `${[
    `host: ${quoted(config.host ?? DEFAULT_HOST)}`,
    `port: ${config.port}`,
    'server_name: "waybill"',
    `max_payload: ${config.maxPayloadBytes}`,
    `pid_file: ${quoted(config.pidFile)}`,
    'jetstream {',
    `  store_dir: ${quoted(config.storeDir)}`,
    `  sync_interval: ${config.syncInterval === 'always' ? 'always' : quoted(config.syncInterval)}`,
    ...(config.maxFileStoreBytes === undefined ? [] : [`  max_file_store: ${config.maxFileStoreBytes}`]),
    '}',
    ...(config.tls ? tlsLines(config.tls) : []),
    ...(config.guarded ? [`include ${quoted(ACCOUNTS_FILE)}`] : []),
  ].join('\n')}\n`;
}

const tlsLines = ({ certFile, keyFile, caFile, verifyCallers = false }: ServerTls): string[] => [
  'tls {',
  `  cert_file: ${quoted(certFile)}`,
  `  key_file: ${quoted(keyFile)}`,
  `  ca_file: ${quoted(caFile)}`,
  `  verify: ${verifyCallers}`,
  '  min_version: "1.2"',
  '}',
];

/**
 * Returns the text of ACCOUNTS_FILE. The server reads JSON as a form of its own syntax.
 * @param authorization the block of that name, which says who decides about unknown connections
 */
export const natsAccountsText = (accounts: NatsAccounts, authorization?: object): string =>
  `accounts: ${JSON.stringify(accounts)}\n${authorization ? `authorization: ${JSON.stringify(authorization)}\n` : ''}`;

/** Listening says where a server listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** The authority by which the server proves itself. If it is set, connections are encrypted. */
  readonly caFile?: string;
}

/**
 * Returns where a server with this configuration listens. The result is undefined if `natsConfigText` did not make the
 * text.
 */
export function listeningOf(text: string): Listening | undefined {
  const [, host] = /^host: "([^"]+)"$/m.exec(text) ?? [];
  const [, port] = /^port: (\d+)$/m.exec(text) ?? [];
  const [, caFile] = /^ {2}ca_file: "([^"]+)"$/m.exec(text) ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host, port: Number(port), ...(caFile !== undefined && { caFile }) };
}

/** Returns the address at which this computer reaches a server that listens on all addresses. */
export const reachedAt = (host: string): string => (host === '0.0.0.0' ? DEFAULT_HOST : host === '::' ? '::1' : host);

/** Returns the host in the form for a URL. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

function quoted(value: string): string {
  return JSON.stringify(value);
}
