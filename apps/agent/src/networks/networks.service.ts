import type { ServiceContext } from '@waybill/service';
import { canCheck, fingerprintNetworks, type NetworksOfMachine } from '../machine/fingerprint/networks.js';
import type { Driver } from '../drivers/driver.js';
import { below } from '../paths/path-name.js';
import { AllocationNetworks, PARALLEL_NETWORKS } from './allocation-networks.js';
import type { BridgeOptions } from './cni/bridge-network.js';
import { NamedNamespaces } from './network-namespaces.store.js';
import { NetworkRecordStore } from './network-records.store.js';
import { runProgram } from './program.transport.js';
import { readKernelSetting } from './rules/forwarding.store.js';
import { Iptables } from './rules/iptables.transport.js';
import { readListeners } from './rules/listeners.store.js';

export interface Networks {
  readonly found: NetworksOfMachine;
  /** Absent if this system has no network namespaces (NW-28). */
  readonly allocations?: AllocationNetworks;
}

/** Returns which networks of allocations this machine supports, and the object that makes them. */
export async function networksOf(
  context: ServiceContext,
  dir: string,
  drivers: ReadonlyMap<string, Driver>,
): Promise<Networks> {
  const { settings, timers, random, logger } = context;
  const options = {
    run: runProgram,
    bridge: bridgeOf(settings),
    pluginDirectories: settings.WAYBILL_CNI_PATH,
    configDirectory: settings.WAYBILL_CNI_CONFIG_DIR,
  };
  const found = await fingerprintNetworks(options);
  if (process.platform !== 'linux') return { found };
  const allocations = new AllocationNetworks({
    ...options,
    namespaces: new NamedNamespaces(runProgram),
    namespacesOfDrivers: new Map(
      [...drivers].flatMap(([name, { namespaces }]) => (namespaces ? [[name, namespaces]] : [])),
    ),
    records: new NetworkRecordStore(below(dir, 'cni'), logger),
    iptables: new Iptables(runProgram),
    readKernelSetting,
    readListeners,
    timers,
    random,
    logger,
    bindsToAddress: Object.keys(settings.WAYBILL_HOST_NETWORKS).length > 0,
    canCheck: (plugin) => canCheck(found.attributes, plugin),
    parallel: PARALLEL_NETWORKS,
  });
  return { found, allocations };
}

const bridgeOf = (settings: ServiceContext['settings']): BridgeOptions => ({
  name: settings.WAYBILL_BRIDGE_NETWORK_NAME,
  subnet: settings.WAYBILL_BRIDGE_NETWORK_SUBNET,
  subnetIPv6: settings.WAYBILL_BRIDGE_NETWORK_SUBNET_IPV6,
  hairpin: settings.WAYBILL_BRIDGE_NETWORK_HAIRPIN_MODE,
});
