import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Task } from '@waybill/model';
import { readLog } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImage } from '../support/container-engine.js';
import { engineOfTests } from '../support/container-machine.js';
import { unmountBelow } from '../support/csi-plugin/disks.mjs';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

const IMAGE = 'waybill-test-shell:1';
const engine = await engineOfTests();
const noEngine = typeof engine === 'string' ? engine : undefined;
const ENV = { DOCKER_HOST: typeof engine === 'string' ? '' : engine.endpoint };
const SERVICE = 'n=0; while :; do echo "beat $n"; n=$((n+1)); sleep 0.05; done';

let cluster: NodesAndAgent;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
  if (typeof engine !== 'string') await makeImage(engine.docker, IMAGE);
});
afterAll(async () => {
  if (cluster) unmountBelow(cluster.dir); // of tasks that go on, or whose agent was killed
  if (typeof engine !== 'string') await engine.stop();
  await cluster?.stop();
});

const tasks: Record<string, Task> = {
  exec: shellTask(SERVICE, { Driver: 'exec' }),
  docker: shellTask(SERVICE, {
    Driver: 'docker',
    Config: { image: IMAGE, network_mode: 'none', command: '/bin/sh', args: ['-c', SERVICE] },
  }),
};

async function logOf(nodeId: string, allocId: string): Promise<string> {
  const read = { Task: 'web', Type: 'stdout', Origin: 'start', Offset: 0, Limit: 1_000_000, WaitMs: 0 } as const;
  const answer = await cluster.rpc.ask(readLog, { AllocID: allocId, ...read }, { target: nodeId });
  return Buffer.from(answer.Data, 'base64').toString();
}

/** What on the machine is of the allocation, by the variable that all of its processes have. */
function processesOf(allocId: string): string[] {
  const pids = execFileSync('ps', ['-eo', 'pid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim());
  return pids.filter((pid) => {
    const environ = `/proc/${pid}/environ`;
    try {
      return existsSync(environ) && readFileSync(environ, 'utf8').includes(`NOMAD_ALLOC_ID=${allocId}`);
    } catch {
      return false;
    }
  });
}

/** The shell that counts, not what it runs. */
const shellOf = (allocId: string): Promise<string> =>
  eventually('its shell', () =>
    processesOf(allocId).find((pid) => {
      const line = existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
      return line.startsWith('/bin/sh');
    }),
  );

/** Why a driver cannot be had here; undefined: it can. */
const whyNot: Record<string, string | undefined> = {
  exec: process.getuid?.() === 0 ? undefined : 'exec needs root',
  docker: noEngine && `docker ${noEngine}`,
};
const present = Object.keys(whyNot).filter((driver) => whyNot[driver] === undefined);
const absent = Object.values(whyNot).filter((reason) => reason !== undefined);

describe.runIf(present.length > 0)(
  `tasks of ${present.join(', ')} (${absent.join('; ') || 'all that there are'})`,
  () => {
    it('AG-193, AG-240: go on when the agent is killed, are the same afterwards, with all they said, and leave nothing', async () => {
      const first = await cluster.startAgent('alpha', ENV);
      const node = await cluster.node('alpha');
      for (const driver of present) expect(node.Drivers[driver]).toMatchObject({ Detected: true, Healthy: true });
      const allocs = await Promise.all(present.map((driver) => cluster.place(node.ID, [tasks[driver]!])));
      for (const { ID } of allocs) await cluster.inStatus(ID, 'running');
      const shells = await Promise.all(allocs.map(({ ID }) => shellOf(ID)));
      await cluster.endAgent(first, 'SIGKILL');

      const second = await cluster.startAgent('alpha', ENV);
      for (const [n, { ID }] of allocs.entries()) {
        const before = (await logOf(node.ID, ID)).length;
        await eventually('the log goes on', async () => (await logOf(node.ID, ID)).length > before);
        expect(await shellOf(ID)).toBe(shells[n]);
        const beats = (await logOf(node.ID, ID)).trimEnd().split('\n');
        expect(beats).toEqual(beats.map((_, beat) => `beat ${beat}`));
      }
      for (const alloc of allocs) await cluster.stopAlloc(alloc);
      for (const { ID } of allocs) await eventually('no process is left', () => processesOf(ID).length === 0);
      if (typeof engine !== 'string')
        await eventually('no container is left', async () => {
          const names = (await engine.docker.listContainers({ all: true })).flatMap(({ Names }) => Names);
          return allocs.every(({ ID }) => !names.includes(`/web-${ID}`));
        });
      expect(readFileSync('/proc/self/mounts', 'utf8')).not.toMatch(/ \/sys\/root/);
      await cluster.endAgent(second, 'SIGTERM');
    });
  },
);
