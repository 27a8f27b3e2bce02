import type { NetworkList } from './network-list.js';

/** Name of the network of mode `bridge`, whatever its bridge is called. */
export const BRIDGE_NETWORK = 'nomad';
/** Chain of iptables for what administrators allow and forbid (NW-81). */
export const ADMIN_CHAIN = 'NOMAD-ADMIN';
/** Where addresses that are in use are noted: in memory, because they do not outlive a reboot either (NW-62). */
export const LEASES_DIRECTORY = '/var/run/cni';
/** What the plugins of the list below are called, sorted. */
export const BRIDGE_PLUGINS = ['bridge', 'firewall', 'host-local', 'loopback', 'portmap'] as const;

/** What people say of the bridge (NW-77). */
export interface BridgeOptions {
  readonly name: string;
  /** An IPv4 network in CIDR notation. */
  readonly subnet: string;
  /** Empty: tasks get no IPv6 address. */
  readonly subnetIPv6: string;
  /** An allocation reaches its own mapped port through the machine's address (NW-84). */
  readonly hairpin: boolean;
}

export const DEFAULT_BRIDGE: BridgeOptions = {
  name: 'nomad',
  subnet: '172.26.64.0/20',
  subnetIPv6: '',
  hairpin: false,
};

/** The network of mode `bridge` (NW-56). */
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
