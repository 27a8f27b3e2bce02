import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyFileSync, mkdirSync } from 'node:fs';
import { NS_PER_SECOND } from '@waybill/model';
import { readLog, signalAlloc } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodesAndAgent } from '../support/nodes-and-agent.js';
import { buildGoPlugin } from '../support/plugins/go-plugin.js';
import { eventually } from '../support/wait.js';

const built = await buildGoPlugin();
const whyNot = 'whyNot' in built ? built.whyNot : undefined;
const PROTO = fileURLToPath(new URL('../../libs/plugins/proto', import.meta.url));
const NO_RESTARTS = { Attempts: 0, Interval: NS_PER_SECOND, Delay: 0, Mode: 'fail', RenderTemplates: false };

let cluster: NodesAndAgent;

beforeAll(async () => {
  if (whyNot === undefined) cluster = await NodesAndAgent.start();
});
afterAll(async () => {
  await cluster?.stop();
});

async function logOf(nodeId: string, allocId: string): Promise<string> {
  const read = { Task: 'web', Type: 'stdout', Origin: 'start', Offset: 0, Limit: 65_536, WaitMs: 0 } as const;
  const answer = await cluster.rpc.ask(readLog, { AllocID: allocId, ...read }, { target: nodeId });
  return Buffer.from(answer.Data, 'base64').toString();
}

describe.skipIf(whyNot !== undefined)(`a driver on the public plugin library (${whyNot ?? 'built here'})`, () => {
  it('PG-2, PG-6, PG-8, PG-26, PG-29, PG-44, PG-46, PG-76: is configured, runs tasks, and is started again', async () => {
    const dir = path.join(cluster.agentDir('go'), 'plugins');
    mkdirSync(dir, { recursive: true });
    copyFileSync('file' in built ? built.file : '', path.join(dir, 'go_command'));
    const block = { args: [PROTO], config: { greeting: 'hello' } };
    const agent = await cluster.startAgent('go', { WAYBILL_PLUGINS: JSON.stringify({ go_command: block }) });
    const node = await cluster.node('go');
    expect(node.Drivers['go_command']).toMatchObject({ Detected: true, Healthy: true });
    expect(node.Attributes['driver.go_command.memory']).toBe('64MiB');

    const task = (line: string) =>
      fixtures.aTask({
        Name: 'web',
        Driver: 'go_command',
        Config: { command: 'sh', args: ['-c', line] },
        RestartPolicy: NO_RESTARTS,
      });
    const done = await cluster.place(node.ID, [task('echo $GREETING $NOMAD_TASK_NAME; exit 3')], { type: 'batch' });
    await cluster.inStatus(done.ID, 'failed');
    const terminated = cluster.alloc(done.ID).TaskStates['web']!.Events.find(({ Type }) => Type === 'Terminated');
    expect(terminated).toMatchObject({ Details: { exit_code: '3' } });
    expect(await logOf(node.ID, done.ID)).toBe('hello web\n');

    // Its tasks are its children and it cannot recover them: a kill ends them with an error.
    const alloc = await cluster.place(node.ID, [task('while :; do sleep 0.05; done')], { type: 'batch' });
    await cluster.inStatus(alloc.ID, 'running');
    const signal = { AllocID: alloc.ID, Task: 'web', Signal: 'SIGHUP' };
    await expect(cluster.rpc.ask(signalAlloc, signal, { target: node.ID })).rejects.toThrow(/SignalTask/);
    const records = path.join(cluster.agentDir('go'), 'plugin_state', 'running.json');
    const [record] = JSON.parse(readFileSync(records, 'utf8')) as { process: { pid: number } }[];
    process.kill(record!.process.pid, 'SIGKILL');
    await cluster.inStatus(alloc.ID, 'failed');
    const again = await cluster.place(node.ID, [task('exit 0')], { type: 'batch' });
    await cluster.inStatus(again.ID, 'complete');
    const log = readFileSync(path.join(cluster.dir, 'go.log'), 'utf8');
    await eventually('its log', () => /warn.*the plugin starts|the plugin starts/i.test(log));
    await cluster.endAgent(agent, 'SIGTERM');
  });
});
