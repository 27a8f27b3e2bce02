import type { HostNetwork } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { hostNetworksOf, type MachineAddress } from './host-networks.js';

const at = (device: string, address: string): MachineAddress => ({
  device,
  mac: `mac of ${device}`,
  family: address.includes(':') ? 'IPv6' : 'IPv4',
  address,
});
const LO = at('lo', '127.0.0.1');
const INNER = at('eth0', '10.0.0.5');
const INNER6 = at('eth0', 'fd00::5');
const OUTER = at('eth1', '203.0.113.7');
const OUTER6 = at('eth1', '2001:db8::7');
const ALL = [LO, INNER, INNER6, OUTER, OUTER6];

const network = (Name: string, over: Partial<HostNetwork> = {}): HostNetwork => ({
  CIDR: '',
  Interface: '',
  ReservedPorts: '',
  ...over,
  Name,
});

/** Each name with its address, by interface. */
function named(configured: HostNetwork[], usual = INNER, all = ALL): Record<string, string[]> {
  const { NodeNetworks } = hostNetworksOf(all, { usual, speedMbits: 40, configured });
  return Object.fromEntries(
    NodeNetworks!.map(({ Device, Addresses }) => [Device, Addresses!.map((a) => `${a.Alias} ${a.Address}`)]),
  );
}

describe('the host networks of a machine', () => {
  it('NW-71, NW-72: without configuration there is one address, the usual one', () => {
    const { Networks, NodeNetworks } = hostNetworksOf(ALL, { usual: INNER, speedMbits: 40, configured: [] });
    expect(Networks).toMatchObject([{ Mode: 'host', Device: 'eth0', IP: '10.0.0.5', CIDR: '10.0.0.5/32', MBits: 40 }]);
    expect(NodeNetworks).toEqual([
      {
        Mode: 'host',
        Device: 'eth0',
        MacAddress: 'mac of eth0',
        Speed: 40,
        Addresses: [{ Family: 'ipv4', Alias: 'default', Address: '10.0.0.5', ReservedPorts: '', Gateway: '' }],
      },
    ]);
    const only6 = hostNetworksOf([INNER6], { usual: INNER6, speedMbits: 0, configured: [] });
    expect(only6.Networks).toMatchObject([{ IP: 'fd00::5', CIDR: 'fd00::5/128' }]);
    expect(only6.NodeNetworks![0]!.Addresses).toMatchObject([{ Family: 'ipv6', Address: 'fd00::5' }]);
  });

  it('NW-73: an address has a name if its range and its interface fit', () => {
    expect(named([network('outer', { Interface: 'eth1' })])).toEqual({
      eth0: ['default 10.0.0.5'],
      eth1: ['outer 203.0.113.7', 'outer 2001:db8::7'],
    });
    expect(named([network('four', { CIDR: '203.0.113.0/24' })])['eth1']).toEqual(['four 203.0.113.7']);
    expect(named([network('six', { CIDR: '2001:db8::/32' })])['eth1']).toEqual(['six 2001:db8::7']);
    const both = network('both', { CIDR: '10.0.0.0/8, 203.0.113.7/32' });
    expect(named([both])).toEqual({ eth0: ['both 10.0.0.5', 'default 10.0.0.5'], eth1: ['both 203.0.113.7'] });
    expect(named([{ ...both, Interface: 'eth1' }])).toEqual({
      eth0: ['default 10.0.0.5'],
      eth1: ['both 203.0.113.7'],
    });
    expect(named([network('none', { CIDR: '192.168.0.0/16' })])).toEqual({ eth0: ['default 10.0.0.5'] });
  });

  it('NW-72: an address has all names that fit, and the loopback interface may have one', () => {
    expect(named([network('a', { Interface: 'eth1' }), network('b', { CIDR: '203.0.113.0/24' })])['eth1']).toEqual([
      'a 203.0.113.7',
      'b 203.0.113.7',
      'a 2001:db8::7',
    ]);
    expect(named([network('local', { Interface: 'lo' })])['lo']).toEqual(['local 127.0.0.1']);
  });

  it('NW-74: the name default may be configured, with more addresses and reserved ports', () => {
    const networks = [network('default', { CIDR: 'fd00::/8,10.0.0.0/8', ReservedPorts: '22' })];
    expect(named(networks)).toEqual({ eth0: ['default 10.0.0.5', 'default fd00::5'] });
    const { NodeNetworks } = hostNetworksOf(ALL, { usual: INNER, speedMbits: 40, configured: networks });
    expect(NodeNetworks![0]!.Addresses!.map(({ ReservedPorts }) => ReservedPorts)).toEqual(['22', '22']);
  });

  it('NW-71: a machine without interfaces has its loopback address', () => {
    expect(named([], LO, [])).toEqual({ lo: ['default 127.0.0.1'] });
  });
});
