import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { AllocatedPort, Allocation, NetworkResource, Task, TaskGroup } from '@waybill/model';
import { NS_PER_SECOND } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  FIRST_PROCESS,
  NetworkMachine,
  onlyChildOf,
  PLUGIN_DIRECTORY,
  whyNoNetworks,
} from '../support/network-machine.js';
import { NodesAndAgent } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

const whyNot = whyNoNetworks();
const BUSYBOX = existsSync('/usr/bin/busybox') ? '/usr/bin/busybox' : '/bin/busybox';
const SUBNET = '172.30.64.0/24';
/** A network with room for one task. */
const SMALL = {
  cniVersion: '0.4.0',
  name: 'small',
  plugins: [
    {
      type: 'bridge',
      bridge: 'small0',
      isGateway: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: '10.77.0.0/30' }]],
        dataDir: '/run/cni-small',
      },
    },
  ],
};

const BRIDGE_PLUGINS = ['bridge', 'firewall', 'host-local', 'loopback', 'portmap'];
/** Allocations at once, and the time that they have on busy cores to start, and to end. */
const CROWD = 50;
const CROWD_DEADLINE_MS = 100_000;
/** A rule that is there for one allocation. */
const OF_ONE_ALLOCATION = /CNI-[0-9a-f]|CNI-DN-|172\.30\.64\.\d+\/32/;

/** Agents are killed and started here: meanwhile none of them counts as gone. */
const GRACE_MS = 60_000;

let cluster: NodesAndAgent;
let machine: NetworkMachine;
let client: NetworkMachine;
/** Of the machine, as the client reaches it. */
let address: string;
let plugins: string;
let agent: ChildProcess;
let nodeId: string;

const network = (Mode: string, over: Partial<NetworkResource> = {}): Partial<TaskGroup> => ({
  Networks: [fixtures.aNetwork({ Mode, ...over })],
});

const port = (Label: string, Value: number, To = 0): AllocatedPort => ({
  Label,
  Value,
  To,
  HostIP: address,
  IgnoreCollision: false,
});

const shell = (Driver: string, line: string, over: Partial<Task> = {}): Task =>
  fixtures.aTask({
    Name: 'web',
    Driver,
    Config: { command: '/bin/sh', args: ['-c', line] },
    RestartPolicy: { Attempts: 0, Interval: NS_PER_SECOND, Delay: 0, Mode: 'fail', RenderTemplates: false },
    KillTimeout: NS_PER_SECOND,
    ...over,
  });

/** A web server on a port inside that shows what is in its directory. */
const server = (inside: number): string => `exec ${BUSYBOX} httpd -f -p ${inside} -h "$NOMAD_ALLOC_DIR/data"`;
/** What a web server answers; empty: nothing. The wget of a static busybox looks names up, for which it is not made. */
function get(from: NetworkMachine, url: string): string {
  const [, host, at, file] = /^(.*):(\d+)(\/.*)$/.exec(url)!;
  const answer = from.tries(`printf 'GET ${file} HTTP/1.0\\r\\n\\r\\n' | ${BUSYBOX} nc -w 2 ${host} ${at}`);
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}
const gets = (from: NetworkMachine, url: string): Promise<string> => eventually(url, () => get(from, url) || undefined);

const sharedFile = (alloc: Allocation, name: string): string =>
  readFileSync(path.join(cluster.agentDir('box'), 'allocs', alloc.ID, 'alloc/data', name), 'utf8');

async function startAgent(over: NodeJS.ProcessEnv = {}): Promise<void> {
  const nats = new URL(cluster.natsUrl);
  const env = {
    WAYBILL_NATS_URL: `nats://${relay}`,
    WAYBILL_CNI_PATH: plugins,
    WAYBILL_CNI_CONFIG_DIR: path.join(cluster.dir, 'networks'),
    WAYBILL_BRIDGE_NETWORK_SUBNET: SUBNET,
    ...over,
  };
  expect(nats.protocol).toBe('nats:');
  ({ agent } = await cluster.spawnAgent('box', env, machine));
}
let relay: string;

async function killAgent(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const ended = once(agent, 'exit');
  NetworkMachine.signal(agent, signal);
  await ended;
}

/** Namespaces, links, leases and rules: nothing but what is there for all allocations. */
const traces = (): string =>
  machine.run(
    'ls /run/netns; ip -o link | cut -d: -f2 | cut -d@ -f1; find /run/cni /run/cni-small -name "*.*.*.*"; iptables-save | grep ^-A',
  );
const records = (): string[] => readdirSync(path.join(cluster.agentDir('box'), 'cni'));

async function ended(...allocs: Allocation[]): Promise<void> {
  await Promise.all(allocs.map((alloc) => cluster.stopAlloc(alloc)));
  await Promise.all(allocs.map((alloc) => cluster.inStatus(alloc.ID, 'complete')));
}

/** Puts something in the place of a plugin. @returns puts the plugin back */
function replacedPlugin(name: string, script: string): () => void {
  const [file, aside] = [path.join(plugins, name), path.join(plugins, `.${name}`)];
  renameSync(file, aside);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return () => renameSync(aside, file);
}

const why = ({ TaskStates }: Allocation): string =>
  Object.values(TaskStates)
    .flatMap(({ Events }) => Events)
    .filter(({ Type }) => Type === 'Setup Failure')
    .map(({ DisplayMessage }) => DisplayMessage)
    .join('\n');

describe.skipIf(whyNot !== undefined)(`networks of allocations (${whyNot ?? 'real plugins'})`, () => {
  let web: Allocation;

  beforeAll(async () => {
    [cluster, machine, client] = await Promise.all([
      NodesAndAgent.start(undefined, GRACE_MS),
      NetworkMachine.start(),
      NetworkMachine.start(),
    ]);
    [address] = machine.connect(client) as [string, string];
    relay = await machine.reach(Number(new URL(cluster.natsUrl).port));
    chmodSync(cluster.dir, 0o711); // for tasks of another user
    plugins = path.join(cluster.dir, 'plugins');
    mkdirSync(plugins);
    // Those of the bridge alone: the agent asks each for its version when it starts.
    for (const name of BRIDGE_PLUGINS) symlinkSync(path.join(PLUGIN_DIRECTORY, name), path.join(plugins, name));
    mkdirSync(path.join(cluster.dir, 'networks'));
    writeFileSync(path.join(cluster.dir, 'networks/small.conflist'), JSON.stringify(SMALL));
    writeFileSync(path.join(cluster.dir, 'networks/torn.conf'), '{"name":');
    await startAgent();
    nodeId = (await eventually('the node is registered', () => cluster.node('box'), CROWD_DEADLINE_MS)).ID;
    machine.run('mkdir -p /run/cni /run/cni-small /run/netns');
  });
  afterAll(async () => {
    await machine?.stop();
    await client?.stop();
    await cluster?.stop();
  });

  it('NW-52, NW-54, NW-76: the node says what it offers', async () => {
    const node = await cluster.node('box');
    expect(node.Attributes).toMatchObject({
      'plugins.cni.version.bridge': '1.0.0',
      'plugins.cni.protocol.portmap': '1.0.0',
      'network.bridge': 'true',
      'nomad.bridge.hairpin_mode': 'false',
    });
    expect(node.NodeResources.Networks?.map(({ Mode }) => Mode)).toEqual(['host', 'bridge', 'cni/small']);
    const named = node.NodeResources.NodeNetworks?.map(({ Mode, Device }) => [Mode, Device]);
    expect(named?.slice(1)).toEqual([
      ['bridge', 'nomad'],
      ['cni/small', ''],
    ]);
  });

  it('NW-45, NW-141: 50 allocations at once on a machine without a bridge: own addresses, all reached, nothing left', async () => {
    expect(machine.run('ip -o link')).not.toContain('nomad');
    const ports = Array.from({ length: CROWD }, (_, n) => 19_000 + n);
    const line = `echo $NOMAD_ALLOC_ID > $NOMAD_ALLOC_DIR/data/id; ${server(8_080)}`;
    const allocs = await Promise.all(
      ports.map((at) =>
        cluster.place(nodeId, [shell('raw_exec', line)], {
          group: network('bridge'),
          ports: [port('http', at, 8_080)],
        }),
      ),
    );
    const running = await eventually(
      'all of them run',
      () => {
        const now = allocs.map(({ ID }) => cluster.alloc(ID));
        if (now.every(({ ClientStatus }) => ClientStatus === 'running')) return now;
        throw new Error(now.map((alloc) => `${alloc.ClientStatus} ${why(alloc)}`).join('\n'));
      },
      CROWD_DEADLINE_MS,
    );
    expect(new Set(running.map(({ NetworkStatus }) => NetworkStatus?.Address)).size).toBe(CROWD);
    const ask = (at: number): string =>
      `printf 'GET /id HTTP/1.0\\r\\n\\r\\n' | ${BUSYBOX} nc -w 2 ${address} ${at} | tail -n 1`;
    const answers = await eventually('all of them answer', () => {
      const said = client.run(ports.map(ask).join('\n')).trim().split('\n');
      return said.length === CROWD && said;
    });
    expect(answers).toEqual(allocs.map(({ ID }) => ID));
    await Promise.all(allocs.map((alloc) => cluster.stopAlloc(alloc)));
    await eventually(
      'all of them have ended',
      () => allocs.every(({ ID }) => cluster.alloc(ID).ClientStatus === 'complete'),
      CROWD_DEADLINE_MS,
    );
    await eventually('their records are gone', () => records().length === 0, CROWD_DEADLINE_MS);
    const left = traces()
      .split('\n')
      .filter((trace) => OF_ONE_ALLOCATION.test(trace) || trace.includes('veth'));
    expect(left).toEqual([]);
    expect(machine.run('ls /run/netns; find /run/cni -name "*.*.*.*"')).toBe('');
    expect(readFileSync(path.join(cluster.dir, 'box.log'), 'utf8')).not.toMatch(/a network cannot be made|leaked/);
  }, 240_000);

  it('NW-31, NW-57, NW-82: exec on the bridge: others reach its mapped port, and it reaches them', async () => {
    const line = `${BUSYBOX} hostname > $NOMAD_ALLOC_DIR/data/name; cat /etc/resolv.conf > $NOMAD_ALLOC_DIR/data/dns; env > $NOMAD_ALLOC_DIR/data/env; ${server(8_080)}`;
    const first = shell('exec', `${BUSYBOX} ip -o addr show eth0 > $NOMAD_ALLOC_DIR/data/address`, {
      Name: 'first',
      Lifecycle: { Hook: 'prestart', Sidecar: false },
    });
    const dns = { Servers: ['10.0.0.53'], Searches: ['${NOMAD_DC}.example'], Options: null };
    web = await cluster.place(nodeId, [first, shell('exec', line)], {
      group: network('bridge', { Hostname: 'web-1', DNS: dns }),
      ports: [port('http', 18_080, 8_080)],
    });
    const running = await cluster.inStatus(web.ID, 'running');
    const { Address, InterfaceName } = running.NetworkStatus!;
    expect(InterfaceName).toBe('eth0');
    expect(Address).toMatch(/^172\.30\.64\.\d+$/);
    expect(await gets(client, `${address}:18080/name`)).toBe('web-1\n');
    expect(get(machine, `${Address}:8080/name`)).toBe('web-1\n');
    expect(sharedFile(web, 'address')).toContain(`${Address}/24`);
    expect(sharedFile(web, 'dns')).toContain('nameserver 10.0.0.53\nsearch dc1.example\n');
    expect(
      Object.fromEntries(
        sharedFile(web, 'env')
          .split('\n')
          .map((one) => one.split('=')),
      ),
    ).toMatchObject({
      NOMAD_PORT_http: '8080',
      NOMAD_HOST_PORT_http: '18080',
      NOMAD_ADDR_http: `${address}:18080`,
      NOMAD_ALLOC_IP_http: Address,
      NOMAD_ALLOC_ADDR_http: `${Address}:8080`,
      NOMAD_ALLOC_INTERFACE_http: 'eth0',
    });
  });

  it('NW-35, NW-40: raw_exec of another user on the bridge; without any network the loopback interface is up', async () => {
    chmodSync(cluster.agentDir('box'), 0o711);
    const raw = shell('raw_exec', `id -u > $NOMAD_ALLOC_DIR/data/user; ${server(9_090)}`, { User: 'nobody' });
    const links = `${BUSYBOX} ip -o link > $NOMAD_ALLOC_DIR/data/links; exec sleep 1000`;
    const [second, alone, aloneToo] = await Promise.all([
      cluster.place(nodeId, [raw], { group: network('bridge'), ports: [port('http', 18_081, 9_090)] }),
      cluster.place(nodeId, [shell('exec', links)], { group: network('none') }),
      cluster.place(nodeId, [shell('raw_exec', links)], { group: network('none') }),
    ]);
    const [running] = await Promise.all([second, alone, aloneToo].map(({ ID }) => cluster.inStatus(ID, 'running')));
    expect(await gets(client, `${address}:18081/user`)).not.toBe('0\n');
    // From one namespace on the bridge to the other.
    const inside = `nsenter --net=/run/netns/${web.ID} ${BUSYBOX} nc -w 2 ${running!.NetworkStatus!.Address} 9090`;
    const answer = machine.run(`printf 'GET /user HTTP/1.0\\r\\n\\r\\n' | ${inside}`);
    expect(answer.split('\r\n\r\n').at(-1)).toBe(sharedFile(second, 'user'));
    for (const alloc of [alone, aloneToo]) {
      expect(cluster.alloc(alloc.ID).NetworkStatus).toBeNull();
      const shown = await eventually('links', () => sharedFile(alloc, 'links').trim().split('\n'));
      expect([shown.length, shown[0]]).toEqual([1, expect.stringMatching(/ lo: <LOOPBACK,UP/)]);
    }
    await ended(second, alone, aloneToo);
    chmodSync(cluster.agentDir('box'), 0o700);
  });

  it('NW-60, NW-148: a configured network; when its addresses are used up, the allocation fails with the reason', async () => {
    const place = () => cluster.place(nodeId, [shell('exec', 'exec sleep 1000')], { group: network('cni/small') });
    const one = await place();
    expect((await cluster.inStatus(one.ID, 'running')).NetworkStatus?.Address).toBe('10.77.0.2');
    const [before, kept] = [traces(), records()];
    const two = await place();
    expect(why(await cluster.inStatus(two.ID, 'failed'))).toMatch(
      /^failed to setup alloc: failed to configure network: plugin type="bridge" failed \(add\): .*no IP addresses available in range set/,
    );
    expect([traces(), records()]).toEqual([before, kept]);
    expect(cluster.alloc(one.ID).ClientStatus).toBe('running');
    await ended(one);
  });

  it('NW-43: a plugin that fails fails the allocation, and nothing is left', async () => {
    const [before, kept] = [traces(), records()];
    const failure = '{"cniVersion":"0.4.0","code":7,"msg":"no luck"}';
    const fails = `[ $CNI_COMMAND = ADD ] || exec ${PLUGIN_DIRECTORY}/portmap\ncat > /dev/null; echo '${failure}'; exit 1`;
    const restore = replacedPlugin('portmap', fails);
    try {
      const alloc = await cluster.place(nodeId, [shell('exec', 'exec sleep 1000')], {
        group: network('bridge'),
        ports: [port('http', 18_082)],
      });
      expect(why(await cluster.inStatus(alloc.ID, 'failed'))).toBe(
        'failed to setup alloc: failed to configure network: plugin type="portmap" failed (add): no luck',
      );
    } finally {
      restore();
    }
    expect([traces(), records()]).toEqual([before, kept]);
  });

  it('NW-37, NW-142, NW-143: an agent that was killed finds what runs, makes anew what it was in the middle of, and removes what is not wanted', async () => {
    const status = cluster.alloc(web.ID).NetworkStatus;
    const reached = path.join(cluster.dir, 'reached');
    const restore = replacedPlugin('firewall', `touch ${reached}; exec sleep 1000`);
    const halfway = await cluster.place(nodeId, [shell('exec', server(8_080))], {
      group: network('bridge'),
      ports: [port('http', 18_083, 8_080)],
    });
    await eventually('the agent is in the middle of a network', () => existsSync(reached));
    await killAgent();
    machine.run("kill $(grep -l 'CNI_COMMAND' /proc/[0-9]*/environ | cut -d/ -f3)"); // what the plugin left
    restore();
    expect(get(client, `${address}:18080/name`)).toBe('web-1\n');
    // Of an allocation that no agent knows any more.
    const stranger = '00000000-1111-2222-3333-444444444444';
    machine.run(`: > /run/netns/${stranger} && unshare --net=/run/netns/${stranger} true`);
    const file = (id: string): string => path.join(cluster.agentDir('box'), 'cni', `${id}.json`);
    const record = JSON.parse(readFileSync(file(web.ID), 'utf8')) as object;
    writeFileSync(file(stranger), JSON.stringify({ ...record, allocId: stranger, portMappings: [] }));
    await startAgent();
    await cluster.inStatus(halfway.ID, 'running');
    expect(await gets(client, `${address}:18083/`)).toBeDefined();
    expect(cluster.alloc(web.ID).NetworkStatus).toEqual(status);
    const rules = machine
      .run('iptables-save -t nat')
      .split('\n')
      .filter((rule) => rule.includes(halfway.ID) && rule.includes('HOSTPORT-DNAT'));
    expect(rules.length).toBe(2); // for TCP and for UDP
    await eventually('the stranger is gone', () => !existsSync(file(stranger)));
    expect(machine.run('ls /run/netns').trim().split('\n').toSorted()).toEqual([web.ID, halfway.ID].toSorted());
    await ended(halfway);
  });

  it('NW-146: a port of the machine on which a program listens leads to the allocation, and the log of the agent says so', async () => {
    const listener = spawn(...machine.command(BUSYBOX, ['nc', '-l', '-p', '18087']), { stdio: 'ignore' });
    try {
      await eventually('it listens', () => machine.run('cat /proc/net/tcp /proc/net/tcp6').includes(':46A7 '));
      const line = `echo inside > $NOMAD_ALLOC_DIR/data/name; ${server(8_080)}`;
      const alloc = await cluster.place(nodeId, [shell('raw_exec', line)], {
        group: network('bridge'),
        ports: [port('http', 18_087, 8_080)],
      });
      await cluster.inStatus(alloc.ID, 'running');
      expect(await gets(client, `${address}:18087/name`)).toBe('inside\n');
      const log = readFileSync(path.join(cluster.dir, 'box.log'), 'utf8').split('\n');
      const warnings = log.filter((entry) => entry.includes('a program of this machine listens'));
      expect(warnings).toEqual([expect.stringContaining('18087')]);
      await ended(alloc);
    } finally {
      NetworkMachine.signal(listener, 'SIGKILL');
    }
  });

  it('NW-39: a namespace that was lost is made anew, and what ran in the old one is started again there', async () => {
    await killAgent();
    machine.run(`umount -l /run/netns/${web.ID}`);
    await startAgent();
    await eventually('it is started again', () => (cluster.alloc(web.ID).TaskStates['web']?.Restarts ?? 0) > 0);
    const { Address } = (await cluster.inStatus(web.ID, 'running')).NetworkStatus!;
    expect(await gets(client, `${address}:18080/name`)).toBe('web-1\n');
    expect(sharedFile(web, 'env')).toContain(`NOMAD_ALLOC_IP_http=${Address}\n`);
  });

  it('NW-41: when the last allocation has ended nothing of any is left', async () => {
    await ended(web);
    await eventually('the records are gone', () => records().length === 0);
    expect(machine.run('ls /run/netns; find /run/cni /run/cni-small -name "*.*.*.*"')).toBe('');
    expect(machine.run('ip -o link')).not.toContain('veth');
    const rules = machine.run('iptables-save').split('\n');
    expect(rules.filter((rule) => OF_ONE_ALLOCATION.test(rule))).toEqual([]);
  });

  it('NW-157: when the address of its ports is gone, an allocation fails and says so; one without ports goes on', async () => {
    const sleep = shell('raw_exec', 'exec sleep 600');
    const placed = await cluster.place(nodeId, [sleep], { group: network('host'), ports: [port('http', 18_081)] });
    const plain = await cluster.place(nodeId, [sleep]);
    for (const { ID } of [placed, plain]) await cluster.inStatus(ID, 'running');
    await killAgent();
    const [old, replacement] = [`${address}/24`, `${address.replace(/\d+$/, '3')}/24`];
    machine.run(`ip addr del ${old} dev cable1 && ip addr add ${replacement} dev cable1`);
    await startAgent();
    const failed = await cluster.inStatus(placed.ID, 'failed');
    expect(why(failed)).toContain(`its ports are on the address ${address}, which this machine does not have any more`);
    expect(cluster.alloc(plain.ID).ClientStatus).toBe('running');
    await ended(plain);
    machine.run(`ip addr del ${replacement} dev cable1 && ip addr add ${old} dev cable1`);
  });

  it('NW-78, NW-86: with a subnet of IPv6, an allocation has both addresses, and its port is mapped for both; the node tells that a subnet overlaps', async () => {
    await killAgent();
    machine.run('ip addr add 172.30.0.1/16 dev cable1 && ip addr add fd13::1/64 dev cable1 nodad');
    client.run('ip addr add fd13::2/64 dev cable0 nodad');
    await startAgent({ WAYBILL_BRIDGE_NETWORK_SUBNET_IPV6: 'fd30:64::/64' });
    const alloc = await cluster.place(
      nodeId,
      [shell('raw_exec', `echo six > $NOMAD_ALLOC_DIR/data/name; ${server(8_080)}`)],
      {
        group: network('bridge'),
        ports: [port('http', 18_086, 8_080)],
      },
    );
    const { Address, AddressIPv6 } = (await cluster.inStatus(alloc.ID, 'running')).NetworkStatus!;
    expect([Address, AddressIPv6]).toEqual([
      expect.stringMatching(/^172\.30\.64\.\d+$/),
      expect.stringMatching(/^fd30:64::[0-9a-f]+$/),
    ]);
    for (const inside of [Address, AddressIPv6]) expect(await gets(machine, `${inside}:8080/name`)).toBe('six\n');
    for (const outside of [address, 'fd13::1']) expect(await gets(client, `${outside}:18086/name`)).toBe('six\n');
    const told = (await cluster.node('box')).Events?.map(({ Message }) => Message);
    expect(told).toContainEqual(
      expect.stringMatching(/^bridge_network_subnet 172\.30\.64\.0\/24 overlaps 172\.30\.0\.\d\/16 of cable1/),
    );
    await ended(alloc);
    await eventually('the records are gone', () => records().length === 0);
    expect(machine.run('find /run/cni -name "*[.:]*[.:]*"')).toBe('');
    const left = machine.run('ip6tables-save; iptables-save').split('\n');
    expect(left.filter((rule) => OF_ONE_ALLOCATION.test(rule) || rule.includes('fd30:64::'))).toEqual([
      expect.stringContaining('-A NOMAD-ADMIN -d fd30:64::/64 -o nomad -j ACCEPT'),
    ]);
  });

  it('a run of these tests that is killed leaves nothing', async () => {
    const script = `
      const first = require('child_process').spawn(...${JSON.stringify(FIRST_PROCESS)}, { stdio: ['pipe', 'pipe', 'inherit'] });
      first.stdout.once('data', () => console.log(first.pid));`;
    const links = (): string[] => readdirSync('/sys/class/net');
    const run = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = (await once(run.stdout, 'data')) as [Buffer];
    const pid = onlyChildOf(Number(said));
    const link = `wbt${randomInt(1_000_000)}`;
    execFileSync('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'outside', 'netns', String(pid)]);
    const there = 'mkdir /run/netns && : > /run/netns/x && unshare --net=/run/netns/x true';
    execFileSync('nsenter', [`--target=${pid}`, '--net', '--mount', '--pid', '--', 'sh', '-c', there]);
    expect(links()).toContain(link);
    run.kill('SIGKILL');
    await eventually('its processes are gone', () => !existsSync(`/proc/${pid}`));
    await eventually('its link is gone', () => !links().includes(link));
  });
});
