/** The cookie by which a plugin knows that an agent has started it (PG-1). */
export const MAGIC_COOKIE = {
  name: 'NOMAD_PLUGIN_MAGIC_COOKIE',
  value: 'e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255',
} as const;

const CORE_VERSION = '1';
export const APP_VERSION = '2';
/** The smallest certificate that a plugin can have sent, in characters (PG-4). */
const SHORTEST_CERTIFICATE = 51;

/** Returns the variables that tell a plugin what the agent speaks (PG-1). */
export const handshakeEnvironment = (): Record<string, string> => ({
  [MAGIC_COOKIE.name]: MAGIC_COOKIE.value,
  PLUGIN_MIN_PORT: '10000',
  PLUGIN_MAX_PORT: '25000',
  PLUGIN_PROTOCOL_VERSIONS: APP_VERSION,
});

/** PluginAddress is where a plugin listens. */
export interface PluginAddress {
  readonly network: 'unix' | 'tcp';
  /** A path, or host and port. */
  readonly address: string;
}

/** A plugin could not be started. The message is for people. */
export class PluginStartError extends Error {
  override readonly name = 'PluginStartError';
}

/** Parses the one line that a plugin prints on its standard output (PG-2). @throws PluginStartError */
export function parseHandshake(line: string): PluginAddress {
  const parts = line.trim().split('|');
  const [core, app, network, address, protocol = 'netrpc', certificate = ''] = parts;
  if (core === undefined || app === undefined || network === undefined || address === undefined)
    throw new PluginStartError(`Unrecognized remote plugin message: ${line.trim()}`);
  if (!/^\d+$/.test(core)) throw new PluginStartError(`Unrecognized remote plugin message: ${line.trim()}`);
  if (core !== CORE_VERSION)
    throw new PluginStartError(
      `incompatible core API version with plugin. Plugin version: ${core}, Core version: ${CORE_VERSION}`,
    );
  if (app !== APP_VERSION)
    throw new PluginStartError(
      `Incompatible API version with plugin. Plugin version: ${app}, Client versions: [${APP_VERSION}]`,
    );
  if (network !== 'unix' && network !== 'tcp') throw new PluginStartError(`unknown address type: ${network}`);
  if (protocol !== 'grpc') throw new PluginStartError(`unsupported plugin protocol "${protocol}". Supported: [grpc]`);
  if (certificate.length >= SHORTEST_CERTIFICATE)
    throw new PluginStartError('the plugin wants TLS, which the agent has not offered');
  return { network, address };
}
