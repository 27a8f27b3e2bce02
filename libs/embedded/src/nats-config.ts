export interface NatsConfig {
  readonly port: number;
  readonly storeDir: string;
  readonly pidFile: string;
  readonly maxPayloadBytes: number;
  readonly syncInterval: string;
  /** As in the server's own configuration; absent: anybody may connect and do everything. */
  readonly accounts?: NatsAccounts | undefined;
}

export type NatsAccounts = Readonly<Record<string, object>>;

/**
 * The configuration file's text. Listens on the loopback address only. `sync_interval` is set in any case: the server's own
 * default leaves acknowledged messages unsynced for two minutes; 100 ms costs up to 8% of the publishing rate, `always`
 * five sixths of it.
 */
export function natsConfigText(config: NatsConfig): string {
  return `${[
    'host: "127.0.0.1"',
    `port: ${config.port}`,
    'server_name: "waybill"',
    `max_payload: ${config.maxPayloadBytes}`,
    `pid_file: ${quoted(config.pidFile)}`,
    'jetstream {',
    `  store_dir: ${quoted(config.storeDir)}`,
    `  sync_interval: ${config.syncInterval === 'always' ? 'always' : quoted(config.syncInterval)}`,
    '}',
    // The server reads JSON as a form of its own syntax.
    ...(config.accounts ? [`accounts: ${JSON.stringify(config.accounts)}`] : []),
  ].join('\n')}\n`;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}
