import type { NetworkList } from './network-list.js';

/** The name of the network of mode `bridge`, whatever the name of its bridge is. */
export const BRIDGE_NETWORK = 'nomad';
/** The iptables chain for administrators' rules (NW-81). */
export const ADMIN_CHAIN = 'NOMAD-ADMIN';
/** The directory of leased addresses. It is in memory, because leases do not survive a reboot either (NW-62). */
export const LEASES_DIRECTORY = '/var/run/cni';
/** The names of the plugins in the list below, sorted. */
export const BRIDGE_PLUGINS = ['bridge', 'firewall', 'host-local', 'loopback', 'portmap'] as const;

/** BridgeOptions are the settings of the bridge (NW-77). */
export interface BridgeOptions {
  readonly name: string;
  /** An IPv4 network in CIDR notation. */
  readonly subnet: string;
  /** An IPv6 network in CIDR notation; empty if tasks get no IPv6 address. */
  readonly subnetIPv6: string;
  /** Whether an allocation can reach its own mapped port through the machine's address (NW-84). */
  readonly hairpin: boolean;
}

export const DEFAULT_BRIDGE: BridgeOptions = {
  name: 'nomad',
  subnet: '172.26.64.0/20',
  subnetIPv6: '',
  hairpin: false,
};

/** Returns the network of mode `bridge` (NW-56). */
export function bridgeNetwork({ name, subnet, subnetIPv6, hairpin }: BridgeOptions): NetworkList {
  return {
    cniVersion: '0.4.0',
    name: BRIDGE_NETWORK,
    plugins: [
      { type: 'loopback' },
      {
        type: 'bridge',
        bridge: name,
        ipMasq: true,
        isGateway: true,
        forceAddress: true,
        hairpinMode: hairpin,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet }], ...(subnetIPv6 === '' ? [] : [[{ subnet: subnetIPv6 }]])],
          routes: [{ dst: '0.0.0.0/0' }, ...(subnetIPv6 === '' ? [] : [{ dst: '::/0' }])],
          dataDir: LEASES_DIRECTORY,
        },
      },
      { type: 'firewall', backend: 'iptables', iptablesAdminChainName: ADMIN_CHAIN },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  };
}
