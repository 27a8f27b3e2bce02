import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Task } from '@waybill/model';
import { readLog } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, ENDPOINT, makeImage, whyNoEngine } from './support/container-engine.js';
import { NodesAndAgent, shellTask } from './support/nodes-and-agent.js';
import { eventually } from './support/wait.js';

const IMAGE = 'waybill-test-shell:1';
const noEngine = await whyNoEngine();
const noExec = process.getuid?.() === 0 ? undefined : 'needs root';
const ENV = { DOCKER_HOST: ENDPOINT };
const SERVICE = 'n=0; while :; do echo "beat $n"; n=$((n+1)); sleep 0.05; done';

let cluster: NodesAndAgent;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
  if (noEngine === undefined) await makeImage(connect(), IMAGE);
});
afterAll(() => cluster?.stop());

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

describe.each([
  ['exec', noExec],
  ['docker', noEngine],
] as const)('a task of %s', (driver, whyNot) => {
  it.runIf(whyNot === undefined)(
    `AG-193, AG-240: goes on when the agent is killed, is the same afterwards, with all it said, and leaves nothing (${whyNot ?? driver})`,
    async () => {
      const first = await cluster.startAgent(driver, ENV);
      const node = await cluster.node(driver);
      expect(node.Drivers[driver]).toMatchObject({ Detected: true, Healthy: true });
      const mountsBefore = readFileSync('/proc/self/mounts', 'utf8');
      const alloc = await cluster.place(node.ID, [tasks[driver]!]);
      await cluster.inStatus(alloc.ID, 'running');
      const shell = await shellOf(alloc.ID);
      await cluster.endAgent(first, 'SIGKILL');

      const second = await cluster.startAgent(driver, ENV);
      const before = (await logOf(node.ID, alloc.ID)).length;
      await eventually('the log goes on', async () => (await logOf(node.ID, alloc.ID)).length > before);
      expect(await shellOf(alloc.ID)).toBe(shell);
      const beats = (await logOf(node.ID, alloc.ID)).trimEnd().split('\n');
      expect(beats).toEqual(beats.map((_, n) => `beat ${n}`));
      const { Events } = (await cluster.inStatus(alloc.ID, 'running')).TaskStates['web']!;
      expect(Events.filter(({ Type }) => Type === 'Started')).toHaveLength(1);

      await cluster.stopAlloc(alloc);
      await cluster.inStatus(alloc.ID, 'complete');
      expect(processesOf(alloc.ID)).toEqual([]);
      if (driver === 'docker')
        await eventually('its container is gone', async () => {
          const all = await connect().listContainers({ all: true });
          return all.every(({ Names }) => !Names.includes(`/web-${alloc.ID}`));
        });
      expect(readFileSync('/proc/self/mounts', 'utf8')).toBe(mountsBefore);
      await cluster.endAgent(second, 'SIGTERM');
    },
  );
});
