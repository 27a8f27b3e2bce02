import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { canCheck, hasBridgeModule, protocolIn, versionIn } from '../../machine/fingerprint/networks.js';
import { hostsFile, resolvConf } from '../name-files.js';
import { leftRules, wordsOf } from '../rules/left-rules.js';
import { bridgeNetwork, DEFAULT_BRIDGE } from './bridge-network.js';
import { cniArgs } from './cni-args.js';
import { configuredNetworks } from './configured-networks.store.js';
import { statusOf } from './network-status.js';

describe('what plugins are told', () => {
  it('NW-56: the network of mode bridge', () => {
    const routes = [{ dst: '0.0.0.0/0' }];
    const bridge = {
      type: 'bridge',
      bridge: 'nomad',
      ipMasq: true,
      isGateway: true,
      forceAddress: true,
      hairpinMode: false,
      ipam: { type: 'host-local', ranges: [[{ subnet: '172.26.64.0/20' }]], routes, dataDir: '/var/run/cni' },
    };
    const list = (one: object) => ({
      cniVersion: '0.4.0',
      name: 'nomad',
      plugins: [
        { type: 'loopback' },
        one,
        { type: 'firewall', backend: 'iptables', iptablesAdminChainName: 'NOMAD-ADMIN' },
        { type: 'portmap', capabilities: { portMappings: true }, snat: true },
      ],
    });
    expect(bridgeNetwork(DEFAULT_BRIDGE)).toEqual(list(bridge));
    const other = { name: 'br1', subnet: '10.0.0.0/24', subnetIPv6: 'fd00::/64', hairpin: true };
    expect(bridgeNetwork(other)).toEqual(
      list({
        ...bridge,
        bridge: 'br1',
        hairpinMode: true,
        ipam: {
          ...bridge.ipam,
          ranges: [[{ subnet: '10.0.0.0/24' }], [{ subnet: 'fd00::/64' }]],
          routes: [...routes, { dst: '::/0' }],
        },
      }),
    );
  });

  it('NW-58: arguments; what names the allocation is not overridden, and a ; is left out', () => {
    const alloc = fixtures.anAlloc({ ID: 'a', JobID: 'web', TaskGroup: 'front' });
    expect(cniArgs(alloc, 'global', { IP: '10.0.0.9', NOMAD_JOB_ID: 'mine', BAD: 'a;b' })).toEqual({
      args: 'IgnoreUnknown=true;IP=10.0.0.9;NOMAD_JOB_ID=web;NOMAD_REGION=global;NOMAD_NAMESPACE=default;NOMAD_GROUP_NAME=front;NOMAD_ALLOC_ID=a',
      leftOut: ['BAD'],
    });
  });
});

describe('what plugins answer', () => {
  const interfaces = [{ name: 'nomad' }, { name: 'eth1', sandbox: '/n' }, { name: 'eth0', sandbox: '/n' }];
  const ip = (at: number, address: string) => ({ interface: at, address });

  it('NW-61: the first interface inside that has an address', () => {
    const dns = { nameservers: ['10.0.0.53'], search: ['example'] };
    expect(
      statusOf({ interfaces, ips: [ip(0, '10.0.0.1/24'), ip(2, '10.0.0.2/24'), ip(2, 'fd00::2/64')], dns }),
    ).toEqual({
      InterfaceName: 'eth0',
      Address: '10.0.0.2',
      AddressIPv6: 'fd00::2',
      DNS: { Servers: ['10.0.0.53'], Searches: ['example'], Options: [] },
    });
    expect(statusOf({ interfaces, ips: [ip(1, '10.0.0.3/24')] })).toMatchObject({ InterfaceName: 'eth1' });
    expect(statusOf({ interfaces, ips: [ip(0, '10.0.0.1/24')] })).toMatchObject({ InterfaceName: 'nomad' });
    expect(statusOf({ interfaces, ips: [ip(2, 'fd00::2/64')] })).toMatchObject({ Address: 'fd00::2' });
  });

  it('NW-61: without one it is no network', () => {
    expect(() => statusOf({ interfaces, ips: [] })).toThrow('no interface with an address');
    expect(() => statusOf({})).toThrow('no interfaces found');
  });

  it('NW-52, NW-53: versions and protocols, and who looks after what it made', () => {
    expect(versionIn('CNI bridge plugin version unknown\nCNI protocol versions supported: 0.1.0, 0.4.0, 1.0.0\n')).toBe(
      '1.0.0',
    );
    expect(versionIn('CNI bridge plugin v1.4.1\nCNI protocol versions supported: 1.0.0')).toBe('1.4.1');
    expect(versionIn('hello 1.2')).toBeUndefined();
    expect(protocolIn('{"supportedVersions":["0.4.0","1.1.0","1.0.0"]}')).toBe('1.1.0');
    expect(protocolIn('hello')).toBeUndefined();
    const of = (version: string, protocol: string) => ({
      'plugins.cni.version.bridge': version,
      'plugins.cni.protocol.bridge': protocol,
    });
    expect(canCheck(of('1.0.0', '1.0.0'), 'bridge')).toBe(false);
    expect(canCheck(of('1.3.0', '1.0.0'), 'bridge')).toBe(true);
    expect(canCheck(of('1.0.0', '1.1.0'), 'bridge')).toBe(true);
    expect(canCheck({}, 'bridge')).toBe(false);
  });
});

describe('what is on the machine', () => {
  it('NW-54: one file that says nothing hides no other; the first of two with a name counts', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-networks-'));
    const write = (name: string, text: string) => writeFileSync(path.join(dir, name), text);
    write('20.conf', '{"name":"one","type":"macvlan"}');
    write('10.conflist', '{"cniVersion":"1.0.0","name":"two","plugins":[{"type":"ptp"}]}');
    write('30.json', '{"name":"two","type":"bridge"}');
    write('40.conf', '{');
    write('50.txt', 'not for us');
    try {
      const { networks, passedOver, files } = await configuredNetworks(dir);
      expect(networks.map(({ name, plugins }) => [name, plugins[0]?.type])).toEqual([
        ['two', 'ptp'],
        ['one', 'macvlan'],
      ]);
      expect(passedOver).toEqual(['30.json: another file has the network "two"', expect.stringMatching(/^40\.conf: /)]);
      expect(files).toBe(4);
      expect(await configuredNetworks(path.join(dir, 'none'))).toEqual({ networks: [], passedOver: [], files: 0 });
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('NW-76: modules of the kernel, compressed or not', () => {
    expect(hasBridgeModule('kernel/net/bridge/bridge.ko.zst: kernel/net/llc/llc.ko.zst')).toBe(true);
    expect(hasBridgeModule('kernel/net/bridge/bridge.ko')).toBe(true);
    expect(hasBridgeModule('kernel/net/bridge/br_netfilter.ko: kernel/net/a-bridge.ko')).toBe(false);
  });

  it('NW-46: rules that lead to the chains of one allocation in one network', () => {
    const at = (network: string, id: string) => String.raw`name: \"${network}\" id: \"${id}\"`;
    const listing = [
      '-N CNI-aa',
      `-A POSTROUTING -s 10.0.0.2/32 -m comment --comment "${at('nomad', 'a')}" -j CNI-aa`,
      `-A POSTROUTING -s 10.0.0.3/32 -m comment --comment "${at('nomad', 'b')}" -j CNI-bb`,
      `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat ${at('nomad', 'a')}" -m multiport --dports 80 -j CNI-DN-aa`,
      `-A CNI-aa -d 10.0.0.0/24 -m comment --comment "${at('nomad', 'a')}" -j ACCEPT`,
    ].join('\n');
    expect(leftRules(listing, 'nomad', 'a').map(({ chain, rule }) => [chain, rule[0]])).toEqual([
      ['CNI-aa', 'POSTROUTING'],
      ['CNI-DN-aa', 'CNI-HOSTPORT-DNAT'],
    ]);
    expect(leftRules(listing, 'other', 'a')).toEqual([]);
    expect(wordsOf(String.raw`-A x --comment "a \"b\" c" -j y`)).toEqual([
      '-A',
      'x',
      '--comment',
      'a "b" c',
      '-j',
      'y',
    ]);
  });
});

describe('names', () => {
  it('NW-91: what the group does not say of DNS is as on the machine', () => {
    const machine = 'nameserver 192.168.1.1\nsearch home\noptions ndots:2\n';
    const none = { servers: [], searches: [], options: [] };
    expect(resolvConf(none, machine)).toBe(machine);
    expect(resolvConf({ ...none, servers: ['10.0.0.53', '10.0.0.54'] }, machine)).toBe(
      'nameserver 10.0.0.53\nnameserver 10.0.0.54\nsearch home\noptions ndots:2\n',
    );
  });

  it('NW-26: a task finds itself by its host name', () => {
    expect(hostsFile('web-1', '172.26.64.2')).toContain('\n172.26.64.2 web-1\n');
    expect(hostsFile('web-1', '')).toContain('\n127.0.1.1 web-1\n');
  });
});
