import type { ServerTls } from './server-tls.js';

/** Listens on the loopback only. */
export const DEFAULT_HOST = '127.0.0.1';
/** Beside the configuration, so that it can be changed alone. */
export const ACCOUNTS_FILE = 'accounts.conf';

export interface NatsConfig {
  /** Address to listen on. Default DEFAULT_HOST. */
  readonly host?: string | undefined;
  readonly port: number;
  readonly storeDir: string;
  readonly pidFile: string;
  readonly maxPayloadBytes: number;
  readonly syncInterval: string;
  /** What streams may take of the disk. Undefined: three quarters of what is free when the server starts. */
  readonly maxFileStoreBytes?: number | undefined;
  /** Whether ACCOUNTS_FILE says who may connect; otherwise anybody may, and do everything. */
  readonly guarded?: boolean;
  /** Connections are encrypted, and others refused. */
  readonly tls?: ServerTls | undefined;
}

export type NatsAccounts = Readonly<Record<string, object>>;

/**
 * The configuration file's text. `sync_interval` is set in any case: the server's own
 * default leaves acknowledged messages unsynced for two minutes; 100 ms costs up to 8% of the publishing rate, `always`
 * five sixths of it. `max_file_store` is what the disk holds: of itself the server takes what was free when it started, and
 * one that started on a full disk would refuse messages for good.
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

/** The text of ACCOUNTS_FILE. The server reads JSON as a form of its own syntax. */
export const natsAccountsText = (accounts: NatsAccounts): string => `accounts: ${JSON.stringify(accounts)}\n`;

/** Where a server listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Connections are encrypted, and it proves itself by this authority. */
  readonly caFile?: string;
}

/** Where a server with this configuration listens; undefined: the text is not of `natsConfigText`. */
export function listeningOf(text: string): Listening | undefined {
  const [, host] = /^host: "([^"]+)"$/m.exec(text) ?? [];
  const [, port] = /^port: (\d+)$/m.exec(text) ?? [];
  const [, caFile] = /^ {2}ca_file: "([^"]+)"$/m.exec(text) ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host, port: Number(port), ...(caFile !== undefined && { caFile }) };
}

/** The address at which this computer reaches what listens on all. */
export const reachedAt = (host: string): string => (host === '0.0.0.0' ? DEFAULT_HOST : host === '::' ? '::1' : host);

/** As a URL has it. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

function quoted(value: string): string {
  return JSON.stringify(value);
}
