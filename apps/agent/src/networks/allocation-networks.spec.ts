import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BRIDGE_RESULT, end, FakeNamespaces, FakeNetworkMachine } from '../fixtures/network-machine.store.js';
import { type Logger, silentLogger } from '@waybill/telemetry';
import { Gate } from '../waiting/gate.js';
import type { NetworkOrder } from './allocation-networks.js';

const ADDED = ['ADD bridge', 'ADD firewall', 'ADD portmap'];
const DELETED = ['DEL portmap', 'DEL firewall', 'DEL bridge'];
const CHECKED = ['CHECK loopback', 'CHECK bridge', 'CHECK firewall', 'CHECK portmap'];
const RULE = 'iptables -t filter -C NOMAD-ADMIN -o nomad -d 172.26.64.0/20 -j ACCEPT';
const MADE = ['make', RULE, ...ADDED];
const FAILED = end('{"cniVersion":"0.4.0","code":7,"msg":"no luck","details":"today"}', { code: 1 });

const order = (over: Partial<NetworkOrder> = {}): NetworkOrder => ({
  allocId: 'a',
  mode: 'bridge',
  ports: [{ Label: 'http', Value: 24_000, To: 8_080, HostIP: '10.1.1.1', IgnoreCollision: false }],
  args: 'IgnoreUnknown=true',
  maker: '',
  hostname: '',
  givenUp: new Gate(),
  ...over,
});

let machine: FakeNetworkMachine;
beforeEach(() => {
  machine = new FakeNetworkMachine();
});
afterEach(() => rmSync(machine.pluginDirectory, { recursive: true }));

describe('the network of an allocation', () => {
  it('NW-31, NW-57, NW-59: namespace, admin rule, each plugin with what the one before it answered', async () => {
    const network = await machine.networks().prepare(order());
    expect(network).toEqual({
      namespace: '/var/run/netns/a',
      status: { InterfaceName: 'eth0', Address: '172.26.64.2', AddressIPv6: '', DNS: null },
      isReplacement: false,
    });
    expect(machine.whatWasCalled()).toEqual(MADE);
    const [bridge, firewall, portmap] = machine.calls.slice(2);
    expect(bridge!.config).toMatchObject({ type: 'bridge', name: 'nomad', cniVersion: '0.4.0' });
    expect(bridge!.config['prevResult']).toBeUndefined();
    expect(firewall!.config['prevResult']).toEqual(BRIDGE_RESULT);
    expect(firewall!.config['runtimeConfig']).toBeUndefined();
    const mapping = { hostPort: 24_000, containerPort: 8_080 };
    expect(portmap!.config['runtimeConfig']).toEqual({
      portMappings: [
        { ...mapping, protocol: 'tcp' },
        { ...mapping, protocol: 'udp' },
      ],
    });
    expect(portmap!.env).toMatchObject({
      CNI_COMMAND: 'ADD',
      CNI_CONTAINERID: 'a',
      CNI_NETNS: '/var/run/netns/a',
      CNI_IFNAME: 'eth0',
      CNI_ARGS: 'IgnoreUnknown=true',
      CNI_PATH: `/nowhere:${machine.pluginDirectory}`,
    });
  });

  it('NW-57: ports are mapped on their address where the machine has several host networks', async () => {
    await machine.networks({ bindsToAddress: true }).prepare(order());
    const { portMappings } = machine.calls.at(-1)!.config['runtimeConfig'] as { portMappings: object[] };
    expect(portMappings[0]).toMatchObject({ hostIP: '10.1.1.1' });
  });

  it('NW-146: it warns of programs that listen on mapped ports, and once for each port', async () => {
    const warnings: unknown[] = [];
    const logger = Object.assign(Object.create(silentLogger) as Logger, {
      warn: (...all: unknown[]) => warnings.push(all),
    });
    let reads = 0;
    const readListeners = async () => {
      reads++;
      return new Set([80, 24_000]);
    };
    const networks = machine.networks({ logger, readListeners });
    await networks.prepare(order({ ports: [] }));
    await networks.prepare(order({ allocId: 'b', ports: [{ ...order().ports[0]!, Value: 24_001, To: 80 }] }));
    expect([warnings, reads]).toEqual([[], 1]);
    await networks.prepare(order({ allocId: 'c' }));
    expect(warnings).toEqual([
      [expect.stringMatching(/^a program of this machine listens on a port/), { alloc: 'c', ports: [24_000] }],
    ]);
  });

  it('NW-85: once, after the first bridged network, it warns of kernel settings that stop packets', async () => {
    const warnings: string[] = [];
    const logger = Object.assign(Object.create(silentLogger) as Logger, {
      warn: (text: string) => warnings.push(text),
    });
    const settings: Record<string, string> = { 'net/ipv4/ip_forward': '0\n' };
    const readKernelSetting = async (name: string) => settings[name];
    const networks = machine.networks({ logger, readKernelSetting });
    await networks.prepare(order({ allocId: 'none', mode: 'none' }));
    expect(warnings).toEqual([]);
    await networks.prepare(order());
    expect(warnings).toEqual([expect.stringMatching(/^net\.ipv4\.ip_forward is 0: no packet passes/)]);
    settings['net/bridge/bridge-nf-call-iptables'] = '0\n';
    await networks.prepare(order({ allocId: 'b' }));
    expect(warnings).toHaveLength(1);
    await machine.networks({ logger, readKernelSetting }).prepare(order({ allocId: 'c' }));
    expect(warnings.slice(2)).toEqual([expect.stringMatching(/^net\.bridge\.bridge-nf-call-iptables is 0: port/)]);
  });

  it('NW-59: a namespace whose loopback interface is not up gets it from its plugin', async () => {
    const driver = Object.assign(new FakeNamespaces(), { raisesLoopback: false });
    const networks = machine.networks({ namespacesOfDrivers: new Map([['docker', driver]]) });
    await networks.prepare(order({ maker: 'docker' }));
    expect(machine.whatWasCalled()).toEqual([RULE, 'ADD loopback', ...ADDED]);
    expect(machine.calls[2]?.config['prevResult']).toEqual(BRIDGE_RESULT);
    await networks.release('a');
    expect(machine.whatWasCalled().slice(-3)).toEqual(DELETED);
    await networks.prepare(order({ allocId: 'b', mode: 'none', maker: 'docker' }));
    expect(machine.whatWasCalled().at(-1)).toBe('ADD loopback');
  });

  it('NW-59: all plugins of a configured network are called, also that for the loopback interface', async () => {
    mkdirSync(path.join(machine.pluginDirectory, 'net.d'));
    const list = { cniVersion: '0.4.0', name: 'mine', plugins: [{ type: 'loopback' }, { type: 'bridge' }] };
    writeFileSync(path.join(machine.pluginDirectory, 'net.d/10.conflist'), JSON.stringify(list));
    const networks = machine.networks();
    await networks.prepare(order({ mode: 'cni/mine' }));
    await networks.release('a');
    const called = ['make', 'ADD loopback', 'ADD bridge', 'DEL bridge', 'DEL loopback', 'remove'];
    expect(machine.whatWasCalled()).toEqual(called);
  });

  it('NW-41, NW-59: taken down in reverse order, each plugin with the result and the ports', async () => {
    const networks = machine.networks();
    await networks.prepare(order());
    machine.calls.length = 0;
    await networks.release('a');
    expect(machine.whatWasCalled()).toEqual([...DELETED, 'remove']);
    expect(machine.calls[0]!.config).toMatchObject({ prevResult: BRIDGE_RESULT, runtimeConfig: {} });
    expect([machine.namespaces.size, machine.records.size]).toEqual([0, 0]);
    await networks.release('a');
    expect(machine.calls).toHaveLength(4);
  });

  it('NW-43, NW-45: three attempts with others in between, the first error is told, and nothing is left', async () => {
    let attempts = 0;
    machine.answer = ({ what }) => {
      if (what !== 'ADD portmap') return machine.goes();
      attempts++;
      return attempts === 1 ? FAILED : end('nonsense');
    };
    const networks = machine.networks();
    const failing = networks.prepare(order());
    const why = failing.catch((error: Error) => error.message);
    await machine.time.pass(0);
    expect(attempts).toBe(1);
    expect(await networks.prepare(order({ allocId: 'b', mode: 'none' }))).toMatchObject({ status: null });
    await machine.time.pass(1_500);
    await machine.time.pass(1_500);
    expect(await why).toBe('failed to configure network: plugin type="portmap" failed (add): no luck: today');
    expect(attempts).toBe(3);
    expect([[...machine.namespaces], [...machine.records.keys()]]).toEqual([['b'], ['b']]);
  });

  describe('NW-45: several at once', () => {
    /** The plugin `bridge` waits for the test in these namespaces; the latest first. */
    let waiting: (() => void)[];
    const ofAdd = (): string[] => machine.whatWasCalled().filter((what) => what === 'ADD bridge');
    const aPort = (Value: number) => ({ ports: [{ ...order().ports[0]!, Value }] });
    beforeEach(() => {
      waiting = [];
      machine.answer = ({ what }) =>
        what === 'ADD bridge' ? new Promise((resolve) => waiting.push(() => resolve(machine.goes()))) : machine.goes();
    });
    const endAll = async (): Promise<void> => {
      for (const goOn of waiting.splice(0)) goOn();
      await machine.time.pass(0);
    };

    it('the first network of a name is made alone, the next ones side by side up to the limit', async () => {
      const networks = machine.networks({ parallel: 3 });
      const made = ['a', 'b', 'c', 'd', 'e'].map((allocId, n) => networks.prepare(order({ allocId, ...aPort(n + 1) })));
      await machine.time.pass(0);
      expect(ofAdd()).toHaveLength(1);
      await endAll();
      expect(waiting).toHaveLength(3);
      await endAll();
      await endAll();
      expect((await Promise.all(made)).every((one) => one?.status?.Address === '172.26.64.2')).toBe(true);
    });

    it('after a failure, the next network is made alone again', async () => {
      const networks = machine.networks({ parallel: 3 });
      const first = networks.prepare(order());
      await machine.time.pass(0);
      await endAll();
      await first;
      machine.answer = ({ what }) =>
        what === 'ADD bridge' ? new Promise((resolve) => waiting.push(() => resolve(FAILED))) : machine.goes();
      const givenUp = new Gate();
      const made = ['b', 'c'].map((allocId, n) => networks.prepare(order({ allocId, givenUp, ...aPort(n + 1) })));
      for (const one of made) one.catch(() => {});
      await machine.time.pass(0);
      expect(waiting).toHaveLength(2);
      await endAll();
      await machine.time.pass(1_500);
      expect(waiting).toHaveLength(1);
      givenUp.open();
      await endAll();
      await endAll();
      for (const one of made) await expect(one).rejects.toThrow('no luck');
    });

    it('NW-147: rules of an ended allocation go before those of the next one on the same port come', async () => {
      const networks = machine.networks({ parallel: 3 });
      const first = networks.prepare(order());
      await machine.time.pass(0);
      await endAll();
      await first;
      let endDel = (): void => {};
      machine.answer = ({ what }) =>
        what === 'DEL portmap' ? new Promise((resolve) => (endDel = () => resolve(end('')))) : machine.goes();
      machine.calls.length = 0;
      const released = networks.release('a');
      await machine.time.pass(0);
      const next = networks.prepare(order({ allocId: 'b' }));
      const other = networks.prepare(order({ allocId: 'c', ...aPort(25_000) }));
      await other;
      expect(ofAdd()).toHaveLength(1);
      endDel();
      await Promise.all([released, next]);
      const called = machine.calls.map(({ what, env }) => `${what} ${env['CNI_CONTAINERID'] ?? ''}`);
      expect(called.indexOf('ADD bridge b')).toBeGreaterThan(called.indexOf('DEL bridge a'));
    });

    it('the calls for one allocation are in order', async () => {
      const networks = machine.networks({ parallel: 3 });
      const made = networks.prepare(order({ ports: [] }));
      await machine.time.pass(0);
      const released = networks.release('a');
      await machine.time.pass(0);
      expect(machine.whatWasCalled().at(-1)).toBe('ADD bridge');
      await endAll();
      await Promise.all([made, released]);
      expect(machine.whatWasCalled().slice(2)).toEqual([...ADDED, ...DELETED, 'remove']);
    });

    it('the admin chain is looked at once for those that wait for it', async () => {
      const networks = machine.networks({ parallel: 8 });
      const first = networks.prepare(order());
      await machine.time.pass(0);
      await endAll();
      await first;
      machine.calls.length = 0;
      const made = ['b', 'c', 'd', 'e'].map((allocId, n) => networks.prepare(order({ allocId, ...aPort(n + 1) })));
      await machine.time.pass(0);
      await endAll();
      await Promise.all(made);
      expect(machine.whatWasCalled().filter((what) => what === RULE)).toHaveLength(2);
    });
  });

  it('NW-45: one that nobody wants any more is not tried again', async () => {
    machine.answer = ({ what }) => (what === 'ADD bridge' ? FAILED : machine.goes());
    const givenUp = new Gate();
    const failing = machine.networks().prepare(order({ givenUp }));
    const why = failing.catch((error: Error) => error.message);
    await machine.time.pass(0);
    givenUp.open();
    expect(await why).toContain('no luck');
    expect(machine.whatWasCalled().filter((what) => what === 'ADD bridge')).toHaveLength(1);
    expect(machine.records.size).toBe(0);
  });

  it.each([
    [end('', { code: null, isLate: true }), 'no answer within 30 s: killed'],
    [end('', { code: 2, stderr: 'panic:\n  oh' }), 'panic: oh'],
    [end('["nonsense"]'), 'its answer is no result of CNI: "[\\"nonsense\\"]"'],
  ])('NW-152, NW-153: a plugin that says %o', async (said, reason) => {
    machine.answer = ({ what }) => (what === 'ADD firewall' ? said : machine.goes());
    const why = machine
      .networks()
      .prepare(order())
      .catch((error: Error) => error.message);
    for (let attempt = 0; attempt < 3; attempt++) await machine.time.pass(2_000);
    expect(await why).toBe(`failed to configure network: plugin type="firewall" failed (add): ${reason}`);
    expect(machine.whatWasCalled().slice(-4)).toEqual([...DELETED, 'remove']);
  });

  it('a plugin that is not there fails the allocation at once, before anything is changed', async () => {
    rmSync(path.join(machine.pluginDirectory, 'host-local'));
    await expect(machine.networks().prepare(order())).rejects.toThrow(
      `failed to configure network: failed to find plugin "host-local" in path [/nowhere ${machine.pluginDirectory}]`,
    );
    expect([machine.calls.length, machine.records.size]).toEqual([0, 0]);
  });

  it('NW-87: rules that cannot be changed fail it with the command', async () => {
    machine.answer = ({ what }) =>
      what.startsWith('iptables')
        ? end('', { code: 4, stderr: 'Permission denied (you must be root)' })
        : machine.goes();
    const why = machine
      .networks()
      .prepare(order())
      .catch((error: Error) => error.message);
    for (let attempt = 0; attempt < 3; attempt++) await machine.time.pass(2_000);
    expect(await why).toBe(
      'failed to configure network: iptables -t filter -A NOMAD-ADMIN -o nomad -d 172.26.64.0/20 -j ACCEPT failed: Permission denied (you must be root)',
    );
  });

  it('NW-60: cni/<name> is looked up when it is wanted', async () => {
    const made = machine.networks().prepare(order({ mode: 'cni/mine' }));
    await expect(made).rejects.toThrow(/^failed to configure network: no CNI network config found in /);
    mkdirSync(path.join(machine.pluginDirectory, 'net.d'));
    const file = path.join(machine.pluginDirectory, 'net.d/10.conf');
    writeFileSync(file, '{"cniVersion":"0.4.0","name":"mine","type":"bridge"}');
    expect(await machine.networks().prepare(order({ mode: 'cni/mine' }))).toBeTruthy();
    expect(machine.whatWasCalled()).toEqual(['make', 'ADD bridge']);
    await expect(machine.networks().prepare(order({ allocId: 'b', mode: 'cni/other' }))).rejects.toThrow(
      'failed to load CNI config: CNI network config not found for name "other"',
    );
  });
});

describe('an agent that comes back', () => {
  it('NW-37: finds a network as it was, and asks the plugins where they can tell', async () => {
    const made = await machine.networks().prepare(order());
    machine.calls.length = 0;
    expect(await machine.networks().prepare(order())).toEqual(made);
    expect(machine.calls).toEqual([]);
    expect(await machine.networks({ canCheck: () => true }).prepare(order())).toEqual(made);
    expect(machine.whatWasCalled()).toEqual(CHECKED);
  });

  it('NW-38, NW-39: makes anew what is not as it was, and says when it cannot', async () => {
    await machine.networks().prepare(order());
    machine.answer = ({ what }) => (what === 'CHECK bridge' ? FAILED : machine.goes());
    expect(await machine.networks({ canCheck: () => true }).prepare(order())).toMatchObject({ isReplacement: true });
    machine.answer = ({ what }) => (what.startsWith('CHECK') || what === 'ADD bridge' ? FAILED : machine.goes());
    const why = machine
      .networks({ canCheck: () => true })
      .prepare(order())
      .catch((error: Error) => error.message);
    for (let attempt = 0; attempt < 3; attempt++) await machine.time.pass(2_000);
    expect(await why).toBe(
      'failed to configure networking for alloc: network namespace already exists but was misconfigured: plugin type="bridge" failed (add): no luck: today',
    );
  });

  it('NW-145: after a reset of the machine, takes down what it knows of and makes it anew', async () => {
    await machine.networks().prepare(order());
    machine.namespaces.clear();
    machine.calls.length = 0;
    machine.answer = ({ what }) => (what.endsWith('-S') ? end('') : machine.goes());
    expect(await machine.networks().prepare(order())).toMatchObject({ isReplacement: true });
    const byHand = ['ip6tables -t nat -S', 'iptables -t nat -S'];
    expect(machine.whatWasCalled()).toEqual([...DELETED, ...byHand, 'remove', ...MADE]);
    expect(machine.calls[0]!.env['CNI_NETNS']).toBe('');
  });

  describe('whose namespace a driver holds (NW-34)', () => {
    const byDriver = order({ maker: 'docker', hostname: 'web-1' });
    let driver: FakeNamespaces;
    beforeEach(() => (driver = new FakeNamespaces()));
    const networks = () => machine.networks({ namespacesOfDrivers: new Map([['docker', driver]]) });

    it('NW-34, NW-37: it is made by the driver, found by its path, and removed by the driver', async () => {
      const made = await networks().prepare(byDriver);
      expect(made).toMatchObject({ namespace: '/run/engine/1', sandbox: { container: 'c1' }, isReplacement: false });
      expect(driver.asked).toEqual(['provide a', 'make a web-1']);
      expect([machine.namespaces.size, machine.calls[1]?.env['CNI_NETNS']]).toEqual([0, '/run/engine/1']);
      machine.calls.length = 0;
      expect(await networks().prepare(byDriver)).toEqual(made);
      expect(machine.calls).toEqual([]);
      await networks().release('a');
      expect(machine.whatWasCalled()).toEqual(DELETED);
      expect([driver.asked.at(-1), machine.records.size]).toEqual(['remove a', 0]);
    });

    it('NW-39: a holder that was started again has another namespace, so the network is made anew', async () => {
      await networks().prepare(byDriver);
      driver.held = { path: '/run/engine/other', sandbox: { container: 'c1' } };
      machine.answer = ({ what }) => (what.endsWith('-S') ? end('') : machine.goes());
      machine.calls.length = 0;
      expect(await networks().find('a')).toBeNull();
      expect(await networks().prepare(byDriver)).toMatchObject({ namespace: '/run/engine/2', isReplacement: true });
      expect(machine.whatWasCalled().slice(0, 3)).toEqual(DELETED);
      expect(machine.calls[0]?.env['CNI_NETNS']).toBe('');
    });

    it('NW-37: while the holder does not answer nothing is taken down, and other networks are not kept waiting', async () => {
      const made = await networks().prepare(byDriver);
      driver.isAway = true;
      machine.calls.length = 0;
      const next = networks();
      const waiting = next.prepare(byDriver);
      await machine.time.pass(10_000);
      expect(await next.find('a')).toEqual(made);
      expect(await next.prepare(order({ allocId: 'b', mode: 'none' }))).toMatchObject({ status: null });
      driver.isAway = false;
      await machine.time.pass(2_000);
      expect(await waiting).toEqual(made);
      expect(machine.whatWasCalled()).toEqual(['make']);
    });

    it('NW-41: what cannot be removed while the holder is away keeps its record for the next agent', async () => {
      await networks().prepare(byDriver);
      machine.answer = ({ what }) => (what.endsWith('-S') ? end('') : machine.goes());
      machine.calls.length = 0;
      driver.isAway = true;
      await networks().release('a');
      expect(machine.calls[0]?.env['CNI_NETNS']).toBe('/run/engine/1');
      expect(machine.records.get('a')?.isReady).toBe(false);
      driver.isAway = false;
      await networks().releaseOthers(new Set());
      expect([driver.held, machine.records.size]).toEqual([undefined, 0]);
    });
  });

  it('NW-142: killed at any step, has one set of everything after its next start, or nothing', async () => {
    for (const deadly of MADE) {
      machine.records.clear();
      machine.namespaces.clear();
      const dead = machine.networks();
      machine.calls.length = 0;
      // Later actions of the dead agent do not happen.
      machine.answer = ({ what }) => (what === deadly ? new Promise(() => {}) : machine.goes());
      void dead.prepare(order()).catch(() => {});
      await machine.time.pass(0);
      expect(machine.whatWasCalled().at(-1)).toBe(deadly);
      expect(machine.records.get('a'), deadly).toMatchObject({ isReady: false });

      machine.answer = ({ what }) => (what.endsWith('-S') ? end('') : machine.goes());
      machine.calls.length = 0;
      const next = machine.networks();
      expect(await next.prepare(order()), deadly).toMatchObject({ isReplacement: false });
      expect(machine.whatWasCalled(), deadly).toEqual([...DELETED, 'remove', ...MADE]);
      await next.release('a');
      expect([machine.namespaces.size, machine.records.size]).toEqual([0, 0]);
    }
  });

  it('NW-44: takes down what no allocation that it knows has', async () => {
    await machine.networks().prepare(order());
    await machine.networks().prepare(order({ allocId: 'b' }));
    await machine.networks().releaseOthers(new Set(['b']));
    expect([[...machine.namespaces], [...machine.records.keys()]]).toEqual([['b'], ['b']]);
  });

  it('NW-41, NW-46: what a plugin does not take down is taken down by hand, and its record stays for the next agent', async () => {
    await machine.networks().prepare(order());
    machine.calls.length = 0;
    const rule = String.raw`-A POSTROUTING -s 172.26.64.2/32 -m comment --comment "name: \"nomad\" id: \"a\"" -j CNI-0a1b`;
    machine.answer = ({ what }) => {
      if (what === 'DEL portmap') return FAILED;
      return what === 'iptables -t nat -S' ? end(rule) : end('');
    };
    await machine.networks().release('a');
    expect(machine.whatWasCalled()).toEqual([
      ...DELETED,
      'ip6tables -t nat -S',
      'iptables -t nat -S',
      'iptables -t nat -D POSTROUTING -s 172.26.64.2/32 -m comment --comment name: "nomad" id: "a" -j CNI-0a1b',
      'iptables -t nat -F CNI-0a1b',
      'iptables -t nat -X CNI-0a1b',
      'remove',
    ]);
    expect([machine.namespaces.size, machine.records.get('a')?.isReady]).toEqual([0, false]);
    machine.answer = () => end('');
    await machine.networks().releaseOthers(new Set());
    expect(machine.records.size).toBe(0);
  });
});
