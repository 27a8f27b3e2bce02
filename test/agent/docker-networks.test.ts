import type { Allocation } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImage } from '../support/container-engine.js';
import {
  BUSYBOX,
  ContainerMachine,
  eventually,
  type MachineWithEngine,
  machineWithEngine,
} from '../support/container-machine.js';
import type { NetworkMachine } from '../support/network-machine.js';
import type { OwnEngine } from '../support/own-engine.js';
import type { WaybillProcesses } from '../support/waybill-processes.js';
import { TestWebSocket } from '../support/websocket.js';

const IMAGE = 'waybill-test-shell:1';

const started = await machineWithEngine();
const whyNot = typeof started === 'string' ? started : undefined;

let box: ContainerMachine;
let waybill: WaybillProcesses;
let machine: NetworkMachine;
let engine: OwnEngine;
let client: NetworkMachine;
/** Of the machine, as the client reaches it. */
let address: string;

const get = (from: NetworkMachine, host: string, port: number, file?: string): string =>
  box.get(from, host, port, file);
const run = (hcl: string): Promise<string> => box.run(hcl);
const newest = (id: string): Promise<Allocation> => box.newest(id);
const inStatus = (id: string, status: string): Promise<Allocation> => box.inStatus(id, status);
const isHealthy = (id: string): Promise<Allocation> => box.isHealthy(id);
const stopped = (id: string): Promise<void> => box.stopped(id);
const inside = (alloc: Allocation, file: string): string => box.inside(alloc, file);

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

describe.skipIf(whyNot !== undefined)(`containers in networks of groups (${whyNot ?? 'an own dockerd'})`, () => {
  beforeAll(async () => {
    const own = started as MachineWithEngine;
    await makeImage(own.engine.docker, IMAGE);
    box = await ContainerMachine.start(own);
    ({ waybill, machine, engine, client, address } = box);
  });
  afterAll(() => box?.stop());

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
    await box.killAgent();
    expect(get(client, address, 18_091, '/page')).toBe('hello\n');
    await box.startAgent();
    await eventually('its agent answers for it', () => waybill.api.get(`/v1/client/allocation/${before.ID}/stats`));
    const after = await engine.docker.getContainer(`nomad_init_${before.ID}`).inspect();
    expect([after.Id, after.State.Pid]).toEqual([pause.Id, pause.State.Pid]);
    const alloc = await inStatus('web', 'running');
    expect([alloc.ID, alloc.NetworkStatus]).toEqual([before.ID, before.NetworkStatus]);
    expect(get(client, address, 18_091, '/page')).toBe('hello\n');
  });

  it('AG-326: a command in a container ends with the connection of the client that started it', async () => {
    const alloc = await inStatus('web', 'running');
    const query = new URLSearchParams({ task: 'server', command: JSON.stringify(['sleep', '8881']) });
    const session = await TestWebSocket.open(
      `${waybill.api.url}/v1/client/allocation/${alloc.ID}/exec?${query.toString()}`,
    );
    const container = engine.docker.getContainer(`server-${alloc.ID}`);
    const runs = async () => JSON.stringify(await container.top()).includes('8881');
    await eventually('it runs', runs);
    session.raw.close(1000);
    await eventually('it is gone', async () => !(await runs()));
  });

  it('NW-39: a pause container that was started again has lost its network, so that is made anew and the task is started in it', async () => {
    const before = await newest('web');
    await box.killAgent();
    await engine.docker.getContainer(`nomad_init_${before.ID}`).restart({ t: 0 });
    await box.startAgent();
    await eventually('it is started again', async () => (await newest('web')).TaskStates['server']?.Restarts === 1);
    const alloc = await inStatus('web', 'running');
    expect(alloc.ID).toBe(before.ID);
    const answer = await eventually('it answers', () => get(client, address, 18_091, '/page') || undefined);
    expect(answer).toBe('hello\n');
    await stopped('web');
    await box.nothingIsLeft();
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
    await box.nothingIsLeft();
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
