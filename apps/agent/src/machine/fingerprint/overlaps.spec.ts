import { describe, expect, it } from 'vitest';
import { DEFAULT_BRIDGE } from '../../networks/cni/bridge-network.js';
import { overlapMessages } from './networks.js';
import { networksIn, overlapOf } from './overlaps.js';

const TABLE = [
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
  'eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
  'eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
  'tun0\t000010AC\t00000000\t0001\t0\t0\t0\t0000F0FF\t0\t0\t0',
  'nomad\t00401AAC\t00000000\t0001\t0\t0\t0\t00F0FFFF\t0\t0\t0',
  '',
].join('\n');

describe('overlaps of subnets', () => {
  it('NW-78: routes are read in the byte order of the machine', () => {
    expect(networksIn(TABLE, 'LE')).toEqual([
      { device: 'eth0', cidr: '0.0.0.0/0' },
      { device: 'eth0', cidr: '192.168.0.0/24' },
      { device: 'tun0', cidr: '172.16.0.0/12' },
      { device: 'nomad', cidr: '172.26.64.0/20' },
    ]);
    expect(networksIn('head\neth0\tC0A80000\t0\t1\t0\t0\t0\tFFFFFF00', 'BE')).toEqual([
      { device: 'eth0', cidr: '192.168.0.0/24' },
    ]);
    expect(networksIn('')).toEqual([]);
  });

  it.each([
    ['172.16.0.0/12', true],
    ['172.26.70.9/32', true],
    ['172.26.64.0/20', true],
    ['172.26.80.0/20', false],
    ['172.26.63.255/32', false],
    ['0.0.0.0/0', false],
    ['fd00::/8', false],
  ])('NW-78: 172.26.64.0/20 and %s: %s', (cidr, overlaps) => {
    const networks = [{ device: 'eth1', cidr }];
    expect(overlapOf('172.26.64.0/20', 'nomad', networks)).toEqual(overlaps ? networks[0] : undefined);
    expect(overlapOf('172.26.64.0/20', 'eth1', networks)).toBeUndefined();
  });

  it('NW-78: each subnet of the bridge that overlaps is told, with the setting to change', () => {
    const bridge = { ...DEFAULT_BRIDGE, subnetIPv6: 'fd00:a::/64' };
    const networks = [...networksIn(TABLE, 'LE'), { device: 'eth0', cidr: 'fd00:a::7/64' }];
    expect(overlapMessages(bridge, networks)).toEqual([
      'bridge_network_subnet 172.26.64.0/20 overlaps 172.16.0.0/12 of tun0, so tasks may not reach both: choose another subnet with WAYBILL_BRIDGE_NETWORK_SUBNET',
      'bridge_network_subnet_ipv6 fd00:a::/64 overlaps fd00:a::7/64 of eth0, so tasks may not reach both: choose another subnet with WAYBILL_BRIDGE_NETWORK_SUBNET_IPV6',
    ]);
    expect(overlapMessages(DEFAULT_BRIDGE, networks.slice(0, 2))).toEqual([]);
  });
});
