import { readdir, readFile, stat } from 'node:fs/promises';
import os from 'node:os';
import { errorText, type NetworkResource, type NodeNetwork, type NodeResources } from '@waybill/model';
import { BRIDGE_PLUGINS, type BridgeOptions } from '../../networks/cni/bridge-network.js';
import { configuredNetworks } from '../../networks/cni/configured-networks.store.js';
import { NETWORK_PROGRAMS, PROGRAM_PATH, programOfMachine, type RunProgram } from '../../networks/program.transport.js';
import { below, entryName } from '../../paths/path-name.js';
import { type MachineNetwork, networksIn, overlapOf } from './overlaps.js';

/** A plugin that does not report its version within this time counts as missing, milliseconds (NW-52). */
const VERSION_TIMEOUT_MS = 3_000;
/** The number of plugins that are asked at the same time. */
const ASKED_AT_ONCE = 4;
/** The capabilities that a namespace and its rules need, numbered as in capabilities(7). */
const CAPABILITIES = [
  ['CAP_NET_ADMIN', 12n],
  ['CAP_SYS_ADMIN', 21n],
] as const;

export interface NetworkFingerprintOptions {
  readonly run: RunProgram;
  readonly bridge: BridgeOptions;
  readonly pluginDirectories: readonly string[];
  readonly configDirectory: string;
}

/** NetworksOfMachine describes which networks of allocations a machine supports, and what it lacks. */
export interface NetworksOfMachine {
  readonly attributes: Readonly<Record<string, string>>;
  /** The networks besides those of mode `host`. */
  readonly networks: readonly NetworkResource[];
  readonly nodeNetworks: readonly NodeNetwork[];
  /** Messages for people, for the node's history. */
  readonly events: readonly string[];
}

/** Finds out which network modes this machine offers (NW-52 to NW-54, NW-76). Cost: two processes per plugin. */
export async function fingerprintNetworks(options: NetworkFingerprintOptions): Promise<NetworksOfMachine> {
  const lacking = lacksForNamespaces();
  const plugins = await pluginAttributes(options);
  const { networks: configured, passedOver } = await configuredNetworks(options.configDirectory);
  const noBridge = lacking ?? lacksForBridge() ?? (await lacksBridgeModule());
  const noPlugins = missingPlugins(plugins, options.pluginDirectories);
  const why = noBridge ?? noPlugins;
  const isOffered = noBridge === undefined;
  const cni = lacking === undefined ? configured.map(({ name }) => `cni/${name}`) : [];
  return {
    attributes: {
      ...plugins,
      'network.bridge': String(why === undefined),
      ...(why !== undefined && { 'network.bridge.missing': why }),
      ...(lacking !== undefined && { 'network.namespaces.missing': lacking }),
      ...(isOffered && { 'nomad.bridge.hairpin_mode': String(options.bridge.hairpin) }),
    },
    networks: [...(isOffered ? ['bridge'] : []), ...cni].map(networkOfMode),
    nodeNetworks: [
      ...(isOffered ? [nodeNetwork('bridge', options.bridge.name)] : []),
      ...cni.map((mode) => nodeNetwork(mode, '')),
    ],
    events: [
      // An operator who has installed plugins wants to use them. The history of other machines needs no such message.
      ...(noBridge !== undefined && noPlugins === undefined ? [`bridge mode disabled: ${noBridge}`] : []),
      ...(isOffered ? overlapMessages(options.bridge, await networksHere()) : []),
      ...passedOver.map((file) => `CNI network left out: ${file}`),
    ],
  };
}

/** Returns a message for each subnet of the bridge that overlaps another network of the machine (NW-78). Pure. */
export function overlapMessages(bridge: BridgeOptions, networks: readonly MachineNetwork[]): string[] {
  const { name, subnet, subnetIPv6 } = bridge;
  return Object.entries({ bridge_network_subnet: subnet, bridge_network_subnet_ipv6: subnetIPv6 }).flatMap(
    ([option, own]) => {
      const other = own === '' ? undefined : overlapOf(own, name, networks);
      if (!other) return [];
      const advice = `choose another subnet with WAYBILL_${option.toUpperCase()}`;
      return [`${option} ${own} overlaps ${other.cidr} of ${other.device}, so tasks may not reach both: ${advice}`];
    },
  );
}

/** Returns the networks of the machine's addresses, and of its routes for IPv4. */
async function networksHere(): Promise<MachineNetwork[]> {
  const addresses = Object.entries(os.networkInterfaces()).flatMap(([device, found]) =>
    (found ?? []).flatMap(({ cidr }) => (cidr === null ? [] : [{ device, cidr }])),
  );
  return [...addresses, ...networksIn(await textOf('/proc/net/route'))];
}

/** Returns the machine's resources with the networks besides mode `host`. */
export function withNetworks(resources: NodeResources, found: NetworksOfMachine): NodeResources {
  return {
    ...resources,
    Networks: [...(resources.Networks ?? []), ...found.networks],
    NodeNetworks: [...(resources.NodeNetworks ?? []), ...found.nodeNetworks],
  };
}

/** Returns why there can be no namespaces, or undefined if there can be. */
function lacksForNamespaces(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces need Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need an agent that runs as root';
  const missing = NETWORK_PROGRAMS.find((name) => programOfMachine(name) === undefined);
  return missing === undefined ? undefined : `network namespaces need the program ${missing} (util-linux)`;
}

function lacksForBridge(): string | undefined {
  return programOfMachine('iptables') === undefined ? 'bridge needs the program iptables' : undefined;
}

/**
 * A kernel with modules may load the module on demand. A kernel that lists no modules has only those that are loaded
 * (NW-76, NW-132).
 */
async function lacksBridgeModule(): Promise<string | undefined> {
  const missing = await lacksCapability();
  if (missing !== undefined) return missing;
  if (await isThere('/sys/module/bridge')) return undefined;
  if (/^bridge\s/m.test(await textOf('/proc/modules'))) return undefined;
  for (const list of ['modules.builtin', 'modules.dep'] as const)
    if (hasBridgeModule(await textOf(below('/lib/modules', entryName(os.release()), list)))) return undefined;
  return 'bridge needs the kernel module bridge';
}

/**
 * Says whether a list of kernel modules contains the bridge.
 * @param list one path a line, with `:` and dependencies behind it
 */
export const hasBridgeModule = (list: string): boolean => /(^|\/)bridge\.ko(\.xz|\.zst|\.gz)?(:|\s|$)/m.test(list);

async function lacksCapability(): Promise<string | undefined> {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(await textOf('/proc/self/status'))?.[1];
  if (effective === undefined) return undefined;
  const held = BigInt(`0x${effective}`);
  const missing = CAPABILITIES.find(([, bit]) => ((held >> bit) & 1n) === 0n);
  return missing && `bridge needs an agent with ${missing[0]}`;
}

function missingPlugins(attributes: Readonly<Record<string, string>>, directories: readonly string[]) {
  const missing = BRIDGE_PLUGINS.filter((name) => attributes[`${VERSION}${name}`] === undefined);
  if (missing.length === 0) return undefined;
  const what = missing.length === BRIDGE_PLUGINS.length ? 'CNI plugins' : `the CNI plugins ${missing.join(', ')}`;
  return `bridge needs ${what} in ${directories.join(' or ')}`;
}

const VERSION = 'plugins.cni.version.';
const PROTOCOL = 'plugins.cni.protocol.';

/**
 * Returns what each plugin of the machine reports. If two plugins have the same name, the first counts, because the
 * agent calls that one.
 */
async function pluginAttributes({ run, pluginDirectories }: NetworkFingerprintOptions) {
  const files = new Map<string, string>();
  for (const directory of pluginDirectories)
    for (const name of await readdir(directory).catch(() => [])) {
      const file = below(directory, entryName(name));
      if (!files.has(name) && (await isExecutable(file))) files.set(name, file);
    }
  const attributes: Record<string, string> = {};
  const waiting = [...files];
  const askOneAfterTheOther = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [name, file] = next;
      const version = versionIn(await outputOf(run, file, {}));
      if (version === undefined) continue;
      attributes[VERSION + name] = version;
      const protocol = protocolIn(await outputOf(run, file, { CNI_COMMAND: 'VERSION' }, '{"cniVersion":"1.0.0"}'));
      if (protocol !== undefined) attributes[PROTOCOL + name] = protocol;
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askOneAfterTheOther));
  return Object.fromEntries(Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function outputOf(run: RunProgram, file: string, env: Record<string, string>, stdin = ''): Promise<string> {
  try {
    const end = await run({
      file,
      args: [],
      env: { PATH: PROGRAM_PATH, ...env },
      stdin,
      timeoutMs: VERSION_TIMEOUT_MS,
    });
    return end.code === 0 ? `${end.stdout}\n${end.stderr}` : '';
  } catch (error) {
    return `cannot be run: ${errorText(error)}`;
  }
}

const SEMANTIC_VERSION = /^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/;

/** Returns the first word that is a semantic version (NW-52). */
export const versionIn = (output: string): string | undefined =>
  output
    .split(/\s+/)
    .map((word) => SEMANTIC_VERSION.exec(word)?.[1])
    .find((version) => version !== undefined);

/** Returns the newest protocol that a plugin supports (NW-53). */
export function protocolIn(output: string): string | undefined {
  try {
    const { supportedVersions } = JSON.parse(output) as { supportedVersions?: string[] };
    return supportedVersions?.toSorted(byVersion).at(-1);
  } catch {
    return undefined;
  }
}

function byVersion(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  for (let at = 0; at < 3; at++) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Plugins of older versions do not check what they have made (NW-37). */
const CHECKS_SINCE = '1.3.0';
const CHECKS_SINCE_PROTOCOL = '1.1.0';

/** Says whether a CNI plugin of the machine supports CHECK (NW-53). @param attributes the machine's attributes */
export function canCheck(attributes: Readonly<Record<string, string>>, plugin: string): boolean {
  const version = attributes[VERSION + plugin];
  const protocol = attributes[PROTOCOL + plugin];
  if (version !== undefined && byVersion(version, CHECKS_SINCE) >= 0) return true;
  return protocol !== undefined && byVersion(protocol, CHECKS_SINCE_PROTOCOL) >= 0;
}

const networkOfMode = (Mode: string): NetworkResource => ({
  Mode,
  Device: '',
  CIDR: '',
  IP: '',
  Hostname: '',
  MBits: 0,
  DNS: null,
  ReservedPorts: [],
  DynamicPorts: [],
  CNI: null,
});

const nodeNetwork = (Mode: string, Device: string): NodeNetwork => ({
  Mode,
  Device,
  MacAddress: '',
  Speed: 0,
  Addresses: [],
});

async function isExecutable(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && found.isFile() && (found.mode & 0o111) !== 0;
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
