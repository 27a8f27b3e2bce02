import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AllocatedDevice, Node } from '@waybill/model';
import { NS_PER_SECOND } from '@waybill/model';
import { hostStats } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { installPlugin } from '../support/plugins/plugin-files.js';
import { eventually } from '../support/wait.js';

let cluster: NodesAndAgent;
let files: string;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
  files = path.join(cluster.dir, 'files');
  mkdirSync(files);
});
afterAll(async () => {
  await cluster?.stop();
});

const write = (name: string, text: string, mode = 0o644): void => {
  writeFileSync(path.join(files, name), text);
  chmodSync(path.join(files, name), mode); // the umask takes bits away from a new file
};
const instances = ({ NodeResources: { Devices } }: Node): Record<string, boolean> =>
  Object.fromEntries((Devices ?? []).flatMap(({ Instances }) => Instances.map(({ ID, Healthy }) => [ID, Healthy])));
const RESTARTS = { Attempts: 1, Interval: 60 * NS_PER_SECOND, Delay: 0, Mode: 'fail', RenderTemplates: false };

describe('a machine with a device plugin', () => {
  it('PG-91, PG-94, PG-97, PG-100, PG-139: shows its devices as they are, and gives them to tasks', async () => {
    write('one', 'first');
    installPlugin(path.join(cluster.agentDir('alpha'), 'plugins'), 'directory', 'directory');
    const blocks = { directory: { config: { dir: files, period_ms: 50 } } };
    const agent = await cluster.startAgent('alpha', { WAYBILL_PLUGINS: JSON.stringify(blocks) });
    const node = await cluster.node('alpha');
    expect(node.NodeResources.Devices).toEqual([
      {
        Vendor: 'waybill',
        Type: 'file',
        Name: 'example',
        Instances: [{ ID: 'one', Healthy: true, HealthDescription: '', Locality: null }],
        Attributes: { memory: { Int: 512, Float: null, String: null, Bool: null, Unit: 'MiB' } },
      },
    ]);

    const given: AllocatedDevice = { Vendor: 'waybill', Type: 'file', Name: 'example', DeviceIDs: ['one'] };
    const line = 'echo "$EXAMPLE_FILES $(cat files/one)" >> $NOMAD_ALLOC_DIR/seen; exit 1';
    const task = shellTask(line, { RestartPolicy: RESTARTS });
    const alloc = await cluster.place(node.ID, [task], { type: 'batch', devices: { web: [given] } });
    await cluster.inStatus(alloc.ID, 'failed');
    const seen = path.join(cluster.agentDir('alpha'), 'allocs', alloc.ID, 'alloc', 'seen');
    expect(readFileSync(seen, 'utf8')).toBe('one first\none first\n'); // also after its restart

    const usage = await eventually('statistics', async () => {
      const { DeviceStats } = await cluster.rpc.ask(hostStats, {}, { target: node.ID });
      return DeviceStats[0]?.InstanceStats['one'];
    });
    expect(usage.Summary).toMatchObject({ IntNumeratorVal: 5, Unit: 'B', FloatNumeratorVal: null });

    write('two', 'second');
    write('three', 'third', 0o666);
    await eventually('the new devices', async () => Object.keys(instances(await cluster.node('alpha'))).length === 3);
    expect(instances(await cluster.node('alpha'))).toEqual({ one: true, two: true, three: false });

    for (const name of ['one', 'two', 'three']) rmSync(path.join(files, name));
    await eventually('no device', async () => Object.keys(instances(await cluster.node('alpha'))).length === 0);
    const late = await cluster.place(node.ID, [shellTask('true')], { type: 'batch', devices: { web: [given] } });
    const failed = await eventually('the hook fails', () =>
      cluster.alloc(late.ID).TaskStates['web']?.Events.find(({ Type }) => Type === 'Task hook failed'),
    );
    expect(failed.Details['message']).toBe(
      'devices: failed to reserve device waybill/file/example: no plugin of this machine has it',
    );
    await cluster.endAgent(agent, 'SIGTERM');
  });
});
