import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, createWriteStream, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Allocation } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImage } from '../support/container-engine.js';
import { NetworkMachine, PLUGIN_DIRECTORY, whyNoNetworks } from '../support/network-machine.js';
import { OwnEngine, whyNoOwnEngine } from '../support/own-engine.js';
import { eventually as within } from '../support/wait.js';
import { CONTROL_PLANE, WaybillProcesses } from '../support/waybill-processes.js';

const IMAGE = 'waybill-test-shell:1';
const AGENT_MAIN = fileURLToPath(new URL('../../apps/agent/dist/main.js', import.meta.url));
const BUSYBOX = existsSync('/usr/bin/busybox') ? '/usr/bin/busybox' : '/bin/busybox';
/** The start of an agent, of an engine's containers and of a job, on busy cores. */
const DEADLINE_MS = 45_000;
const eventually: typeof within = (what, condition) => within(what, condition, DEADLINE_MS);
const SUBNET = '172.30.65.0/24';

interface Started {
  readonly machine: NetworkMachine;
  readonly engine: OwnEngine;
}

/** Whether an engine starts here is known only when one was tried. */
async function startedOrWhyNot(): Promise<Started | string> {
  const whyNot = whyNoNetworks() ?? whyNoOwnEngine();
  if (whyNot !== undefined) return whyNot;
  const machine = await NetworkMachine.start();
  const engine = await OwnEngine.start(machine);
  if (engine instanceof OwnEngine) return { machine, engine };
  await machine.stop();
  return engine;
}

const started = await startedOrWhyNot();
const whyNot = typeof started === 'string' ? started : undefined;

let waybill: WaybillProcesses;
let machine: NetworkMachine;
let engine: OwnEngine;
let client: NetworkMachine;
/** Of the machine, as the client reaches it. */
let address: string;
let relay: string;
let agent: ChildProcess;
/** Those of the bridge alone: the agent asks each for its version when it starts. */
let plugins: string;

async function startAgent(): Promise<void> {
  const log = createWriteStream(path.join(waybill.dir, 'agent.log'), { flags: 'a' });
  await once(log, 'open');
  agent = spawn(...machine.command(process.execPath, ['--enable-source-maps', AGENT_MAIN]), {
    env: {
      PATH: process.env['PATH'],
      WAYBILL_NATS_URL: `nats://${relay}`,
      WAYBILL_AGENT_DIR: path.join(waybill.dir, 'agent'),
      WAYBILL_NODE_NAME: 'box',
      WAYBILL_OPS_PORT: '9123',
      WAYBILL_LOG_FORMAT: 'line',
      WAYBILL_CNI_PATH: plugins,
      WAYBILL_BRIDGE_NETWORK_SUBNET: SUBNET,
      WAYBILL_DOCKER_ENDPOINT: 'unix:///run/docker.sock',
      WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false',
      WAYBILL_GC_DISK_USAGE_THRESHOLD: '100',
      WAYBILL_GC_INODE_USAGE_THRESHOLD: '100',
    },
    stdio: ['ignore', log, log],
  });
}

async function isReady(): Promise<boolean> {
  const nodes = await waybill.api.get<NodeStub[]>('/v1/nodes');
  if (nodes.some(({ Status, Drivers }) => Status === 'ready' && Drivers?.['docker']?.Healthy === true)) return true;
  throw new Error(JSON.stringify(nodes));
}
interface NodeStub {
  readonly Status: string;
  readonly Drivers: Readonly<Record<string, { readonly Healthy: boolean }>> | null;
}

async function killAgent(): Promise<void> {
  const ended = once(agent, 'exit');
  NetworkMachine.signal(agent, 'SIGKILL');
  await ended;
}

/** What a web server answers; empty: nothing. */
function get(from: NetworkMachine, host: string, port: number, file = '/'): string {
  const answer = from.tries(`printf 'GET ${file} HTTP/1.0\\r\\n\\r\\n' | ${BUSYBOX} nc -w 2 ${host} ${port}`);
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

/** A task that serves its shared directory on the port that it is given, after a line of shell. */
const server = (driver: string, line: string): string => {
  const [busybox, image] = driver === 'docker' ? ['busybox', `image = "${IMAGE}"`] : [BUSYBOX, ''];
  return `
    task "server" {
      driver = "${driver}"
      config {
        ${image}
        ${driver === 'docker' ? 'ports = ["http"]' : ''}
        command = "/bin/sh"
        args    = ["-c", "${line}; exec ${busybox} httpd -f -p $NOMAD_PORT_http -h $NOMAD_ALLOC_DIR/data"]
      }
      kill_timeout = "1s"
      resources {
        cpu    = 20
        memory = 32
      }
    }`;
};

const job = (id: string, network: string, tasks: string): string => `
job "${id}" {
  group "web" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    // Agents are killed and started here, which may take longer than a machine may be silent.
    disconnect {
      lost_after = "10m"
      replace    = false
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    ${network}
    ${tasks}
  }
}`;

const bridge = (port: number, more = ''): string => `
    network {
      mode = "bridge"
      port "http" {
        static = ${port}
        to     = 8080
      }
      ${more}
    }
    service {
      name     = "web-${port}"
      port     = "http"
      provider = "nomad"
      check {
        type     = "http"
        path     = "/page"
        interval = "1s"
        timeout  = "1s"
      }
    }
    update {
      min_healthy_time = "100ms"
    }`;

const PAGE = 'echo hello > /alloc/data/page';

async function run(hcl: string): Promise<string> {
  const body = JSON.stringify({ JobHCL: hcl, Canonicalize: true });
  // A job file may be parsed for a second or two, which is not enough where the cores are busy.
  const found = await eventually('the job file is parsed', async () => {
    const parsed = await waybill.api.raw('/v1/jobs/parse', { method: 'POST', body });
    const text = await parsed.text();
    if (!parsed.ok) throw new Error(text);
    return JSON.parse(text) as { ID: string };
  });
  await waybill.api.register(found);
  return found.ID;
}

const newest = async (id: string): Promise<Allocation> => {
  const [stub] = await waybill.api.get<Allocation[]>(`/v1/job/${id}/allocations`);
  if (!stub) throw new Error(`${id} has no allocation`);
  return waybill.api.get<Allocation>(`/v1/allocation/${stub.ID}`);
};

const inStatus = (id: string, status: string): Promise<Allocation> =>
  eventually(`${id} is ${status}`, async () => {
    const alloc = await newest(id);
    if (alloc.ClientStatus === status) return alloc;
    throw new Error(JSON.stringify([alloc.ClientStatus, Object.values(alloc.TaskStates ?? {}).map((t) => t.Events)]));
  });

const isHealthy = (id: string): Promise<Allocation> =>
  eventually(`${id} is healthy`, async () => {
    const alloc = await newest(id);
    if (alloc.DeploymentStatus?.Healthy === true) return alloc;
    throw new Error(JSON.stringify([alloc.ClientStatus, Object.values(alloc.TaskStates ?? {}).map((t) => t.Events)]));
  });

async function stopped(id: string): Promise<void> {
  await waybill.api.stop(id);
  await inStatus(id, 'complete');
}

const inside = (alloc: Allocation, file: string): string =>
  machine.run(`cat ${path.join(waybill.dir, 'agent/allocs', alloc.ID, 'alloc/data', file)}`);

/** Whatever is on the machine for single allocations. */
const traces = (): string[] => {
  const rules = machine.run('iptables-save').split('\n');
  const links = machine.run('ip -o link').split('\n');
  return [
    ...rules.filter((rule) => /CNI-[0-9a-f]|CNI-DN-|172\.30\.65\.\d+\/32/.test(rule)),
    ...links.filter((link) => link.includes('@if') && link.includes('master nomad')),
    ...machine
      .run(`ls ${path.join(waybill.dir, 'agent/cni')} /run/netns`)
      .split('\n')
      .filter((name) => /[0-9a-f]-/.test(name)),
  ];
};

const nothingIsLeft = (): Promise<true> =>
  eventually('nothing is left', async () => {
    const left = [...(await engine.containers()), ...traces()];
    if (left.length > 0) throw new Error(left.join('\n'));
    return true;
  });

describe.skipIf(whyNot !== undefined)(`containers in networks of groups (${whyNot ?? 'an own dockerd'})`, () => {
  beforeAll(async () => {
    ({ machine, engine } = started as Started);
    [waybill, client] = await Promise.all([
      WaybillProcesses.startTogether({}, CONTROL_PLANE),
      NetworkMachine.start(),
      makeImage(engine.docker, IMAGE),
    ]);
    [address] = machine.connect(client) as [string, string];
    relay = await machine.reach(Number(new URL(waybill.stack.natsUrl).port));
    chmodSync(waybill.dir, 0o711);
    plugins = path.join(waybill.dir, 'plugins');
    mkdirSync(plugins);
    for (const name of ['bridge', 'firewall', 'host-local', 'loopback', 'portmap'])
      symlinkSync(path.join(PLUGIN_DIRECTORY, name), path.join(plugins, name));
    machine.run('mkdir -p /run/cni /run/netns');
    await startAgent();
    await eventually('the node is ready', isReady);
  });
  afterAll(async () => {
    await engine?.stop();
    await machine?.stop();
    await client?.stop();
    await waybill?.stop();
  });

  it('NW-31, NW-113: a job of exec on the bridge is placed, healthy by its check, and answers on its mapped port', async () => {
    const id = await run(job('exec-web', bridge(18_090), server('exec', PAGE)));
    await isHealthy(id);
    expect(get(client, address, 18_090, '/page')).toBe('hello\n');
    await stopped(id);
  });

  it('NW-34, NW-35, NW-113: a job of docker on the bridge is placed, healthy by its check, and answers on its mapped port', async () => {
    const line = `${PAGE}; env > /alloc/data/env; cat /etc/hosts > /alloc/data/hosts; cat /etc/resolv.conf > /alloc/data/dns; cat /proc/sys/kernel/hostname > /alloc/data/name`;
    const more = 'hostname = "web-1"\n dns {\n servers = ["10.0.0.53"]\n searches = ["box.example"]\n }';
    const id = await run(job('web', bridge(18_091, more), server('docker', line)));
    const alloc = await isHealthy(id);
    const { Address, InterfaceName } = alloc.NetworkStatus!;
    expect([InterfaceName, Address]).toEqual(['eth0', expect.stringMatching(/^172\.30\.65\.\d+$/)]);
    expect(get(client, address, 18_091, '/page')).toBe('hello\n');
    expect(get(machine, Address, 8_080, '/page')).toBe('hello\n');
    expect(await engine.containers()).toEqual([`nomad_init_${alloc.ID}`, `server-${alloc.ID}`]);
    expect(inside(alloc, 'name')).toBe('web-1\n');
    expect(inside(alloc, 'hosts')).toContain(`\n${Address} web-1\n`);
    expect(inside(alloc, 'dns')).toContain('nameserver 10.0.0.53\nsearch box.example\n');
    const env = inside(alloc, 'env').split('\n');
    for (const variable of [
      'NOMAD_PORT_http=8080',
      'NOMAD_HOST_PORT_http=18091',
      `NOMAD_ALLOC_ADDR_http=${Address}:8080`,
      'NOMAD_ALLOC_INTERFACE_http=eth0',
    ])
      expect(env).toContain(variable);
  });

  it('NW-37, NW-143: an agent that was killed takes it up again with the network as it was', async () => {
    const before = await newest('web');
    const pause = await engine.docker.getContainer(`nomad_init_${before.ID}`).inspect();
    await killAgent();
    expect(get(client, address, 18_091, '/page')).toBe('hello\n');
    await startAgent();
    await eventually('its agent answers for it', () => waybill.api.get(`/v1/client/allocation/${before.ID}/stats`));
    const after = await engine.docker.getContainer(`nomad_init_${before.ID}`).inspect();
    expect([after.Id, after.State.Pid]).toEqual([pause.Id, pause.State.Pid]);
    const alloc = await inStatus('web', 'running');
    expect([alloc.ID, alloc.NetworkStatus]).toEqual([before.ID, before.NetworkStatus]);
    expect(get(client, address, 18_091, '/page')).toBe('hello\n');
  });

  it('NW-39: a pause container that was started again has lost its network, so that is made anew and the task is started in it', async () => {
    const before = await newest('web');
    await killAgent();
    await engine.docker.getContainer(`nomad_init_${before.ID}`).restart({ t: 0 });
    await startAgent();
    await eventually('it is started again', async () => (await newest('web')).TaskStates['server']?.Restarts === 1);
    const alloc = await inStatus('web', 'running');
    expect(alloc.ID).toBe(before.ID);
    const answer = await eventually('it answers', () => get(client, address, 18_091, '/page') || undefined);
    expect(answer).toBe('hello\n');
    await stopped('web');
    await nothingIsLeft();
  });

  it('NW-23: docker makes the namespace, and a task of exec in the group joins it', async () => {
    const beside = `
    task "beside" {
      driver = "exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "${BUSYBOX} ip -o addr show eth0 > /alloc/data/address; exec sleep 600"]
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }`;
    const id = await run(job('both', bridge(18_092), server('docker', PAGE) + beside));
    const alloc = await isHealthy(id);
    expect(inside(alloc, 'address')).toContain(`${alloc.NetworkStatus!.Address}/24`);
    await stopped(id);
  });

  it('NW-40: without any network a container has only its loopback interface', async () => {
    const line = 'cat /proc/net/dev > /alloc/data/links; exec sleep 600';
    const network = 'network {\n mode = "none"\n port "http" {}\n }';
    const id = await run(job('alone', network, server('docker', line)));
    const alloc = await inStatus(id, 'running');
    const links = await eventually('it has written', () => inside(alloc, 'links').match(/\w+:/g));
    expect([links, alloc.NetworkStatus?.Address]).toEqual([['lo:'], '']);
    await stopped(id);
  });

  it('NW-144: without its pause container a task does not start again, and its allocation leaves nothing', async () => {
    const id = await run(job('lost', bridge(18_093), server('docker', PAGE)));
    const alloc = await isHealthy(id);
    await engine.docker.getContainer(`nomad_init_${alloc.ID}`).remove({ force: true });
    const restart = `/v1/client/allocation/${alloc.ID}/restart`;
    await waybill.api.raw(restart, { method: 'PUT', body: JSON.stringify({ TaskName: 'server' }) });
    const failed = await inStatus(id, 'failed');
    const events = failed.TaskStates['server']!.Events.map(({ DisplayMessage }) => DisplayMessage);
    expect(events).toContain(
      `the pause container nomad_init_${alloc.ID}, which holds the network of the allocation, is gone`,
    );
    await nothingIsLeft();
  });

  it('AG-281, NW-104: without a network of its group, a container publishes its ports from the network of the engine', async () => {
    const network = 'network {\n port "http" {\n static = 18094\n to = 8080\n }\n }';
    const id = await run(job('published', network, server('docker', PAGE.replace('hello', '$NOMAD_PORT_http'))));
    await inStatus(id, 'running');
    const answer = await eventually('it answers', () => get(client, address, 18_094, '/page') || undefined);
    expect(answer).toBe('8080\n');
    await stopped(id);
  });
});
