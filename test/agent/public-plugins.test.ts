import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AllocatedDevice } from '@waybill/model';
import { readLog } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

/** A directory with `raw-exec` and `device-example`, which test/support/go-plugin/README.md says how to build. */
const BUILT = process.env['TEST_PUBLIC_PLUGINS'] ?? '';
const RAW_EXEC = path.join(BUILT, 'raw-exec');
const DEVICE = path.join(BUILT, 'device-example');
const isBuilt = BUILT !== '' && existsSync(RAW_EXEC) && existsSync(DEVICE);

describe.skipIf(!isBuilt)('plugins of the reference (needs them built, TEST_PUBLIC_PLUGINS)', () => {
  let cluster: NodesAndAgent;
  let files: string;
  beforeAll(async () => {
    cluster = await NodesAndAgent.start();
    files = path.join(cluster.dir, 'files');
    mkdirSync(files);
    writeFileSync(path.join(files, 'one'), 'first');
  });
  afterAll(() => cluster?.stop());

  it('PG-113, PG-137: both keep to the protocol', async () => {
    const device = JSON.stringify({ dir: files, list_period: '1s', unhealthy_perm: '-rwxrwxrwx' });
    const driver = ['-config', '{"enabled":true}', '-task', '{"command":"/bin/sleep","args":["600"]}'];
    const short = ['-short-task', '{"command":"/bin/sh","args":["-c","echo hello; exit 3"]}', '-exit-code', '3'];
    for (const args of [
      ['-config', device, DEVICE],
      [...driver, ...short, '-says', 'hello', RAW_EXEC],
    ]) {
      const { code, out } = await runCli('http://nowhere', ['plugin', 'check', ...args]);
      expect([code, out]).toEqual([0, expect.stringContaining(' 0 failed')]);
    }
  });

  it('PG-113, PG-102, PG-72, PG-75: an agent runs them, and finds them again when it was killed', async () => {
    const dir = path.join(cluster.agentDir('alpha'), 'plugins');
    mkdirSync(dir, { recursive: true });
    cpSync(RAW_EXEC, path.join(dir, 'raw-exec'));
    cpSync(DEVICE, path.join(dir, 'device-example'));
    const blocks = {
      'raw-exec': { config: { enabled: true } },
      'device-example': { config: { dir: files, list_period: '1s' } },
    };
    const env = { WAYBILL_PLUGINS: JSON.stringify(blocks) };
    let agent = await cluster.startAgent('alpha', env);
    const node = await cluster.node('alpha');
    expect(node.Drivers['raw_exec']).toMatchObject({ Detected: true, Healthy: true });
    expect(node.Drivers['raw_exec']?.TaskConfigSchema).toContain('"command"');
    const [group] = node.NodeResources.Devices ?? [];
    expect(group?.Instances.map(({ ID }) => path.basename(ID))).toEqual(['one']);

    const given: AllocatedDevice = {
      Vendor: group!.Vendor,
      Type: group!.Type,
      Name: group!.Name,
      DeviceIDs: [group!.Instances[0]!.ID],
    };
    const task = shellTask('n=0; while :; do echo "beat $n"; n=$((n+1)); sleep 0.1; done');
    const alloc = await cluster.place(node.ID, [task], { devices: { web: [given] } });
    await cluster.inStatus(alloc.ID, 'running');
    const log = async (): Promise<string[]> => {
      const read = { Task: 'web', Type: 'stdout', Origin: 'start', Offset: 0, Limit: 1_000_000, WaitMs: 0 } as const;
      const { Data } = await cluster.rpc.ask(readLog, { AllocID: alloc.ID, ...read }, { target: node.ID });
      return Buffer.from(Data, 'base64').toString().trim().split('\n');
    };
    await eventually('it writes', async () => (await log()).length > 3);
    await cluster.endAgent(agent, 'SIGKILL');
    agent = await cluster.startAgent('alpha', env);
    const before = (await log()).length;
    await eventually('it writes on', async () => (await log()).length > before + 3);
    const beats = await log();
    expect(beats).toEqual(beats.map((_, n) => `beat ${n}`));
    await cluster.stopAlloc(alloc);
    await cluster.inStatus(alloc.ID, 'complete');
    await cluster.endAgent(agent, 'SIGTERM');
  });
});
