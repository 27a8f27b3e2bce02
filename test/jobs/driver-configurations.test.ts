import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Node, NodeListStub } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { installPlugin } from '../support/plugins/plugin-files.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let directory: string;
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'waybill-configurations-'));
  const plugins = path.join(directory, 'plugins');
  installPlugin(plugins, 'command', 'command');
  waybill = await WaybillProcesses.startTogether({
    WAYBILL_PLUGIN_DIR: plugins,
    WAYBILL_PLUGINS: '{"command":{}}',
  });
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<NodeListStub[]>('/v1/nodes')).some(({ Status, Drivers }) => {
      return Status === 'ready' && Drivers['command']?.Healthy;
    }),
  );
});
afterAll(async () => {
  await waybill?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** A job of the plugin. */
const jobOf = (config: string, driver = 'command'): string => `job "typo" {
  type = "batch"
  group "app" {
    task "main" {
      driver = "${driver}"
      config {
${config}
      }
    }
  }
}
`;

async function cli(words: string[], text: string) {
  const file = path.join(directory, 'typo.hcl');
  await writeFile(file, text);
  return runCli(api.url, [...words, file]);
}

describe('the configuration of a task at its registration', () => {
  it('PG-47: a node shows the schema of a plugin, and a list of nodes does not', async () => {
    const [stub] = await api.get<NodeListStub[]>('/v1/nodes');
    expect(stub?.Drivers['command']).not.toHaveProperty('TaskConfigSchema');
    const { Drivers } = await api.get<Node>(`/v1/node/${stub!.ID}`);
    expect(JSON.parse(Drivers['command']!.TaskConfigSchema!)).toMatchObject({
      object: { attributes: { command: { Attr: { type: 'string', required: true } } } },
    });
    expect(Drivers['raw_exec']).not.toHaveProperty('TaskConfigSchema');
  });

  it('PG-42: what no machine would accept is refused with its line, and is not in the log', async () => {
    const wrong = jobOf('        command = "/bin/true"\n        arg = ["x"]');
    for (const words of [
      ['job', 'run'],
      ['job', 'plan'],
      ['job', 'validate'],
    ]) {
      const { code, err } = await cli(words, wrong);
      expect(code).toBe(words[1] === 'plan' ? 255 : 1);
      expect(err).toContain(
        'Task group app task main: invalid config of driver "command": Invalid argument name; No argument or block type is named "arg".',
      );
      expect(err).toContain('typo.hcl:8,9-12: Invalid config of task "main" in group "app"; Invalid argument name;');
      expect(err).toContain('  8 |         arg = ["x"]\n    |         ^^^');
    }
    const builtIn = await cli(['job', 'run'], jobOf('        command = "/bin/true"\n        argz = ["x"]', 'raw_exec'));
    expect(builtIn.err).toContain('typo.hcl:8,9-13');
    expect(builtIn.err).toContain('unknown key "argz" in the configuration of raw_exec');
    expect((await api.raw('/v1/job/typo')).status).toBe(404);
    expect(await api.get('/v1/evaluations?namespace=default')).toEqual([]);
  });

  it('PG-42: the answer of a validation has the places', async () => {
    const job = shellJob('typo', 'true') as { TaskGroups: { Tasks: { Config: object }[] }[] };
    job.TaskGroups[0]!.Tasks[0]!.Config = { command: 5 };
    const answer = await api.raw('/v1/validate/job', { method: 'PUT', body: JSON.stringify({ Job: job }) });
    expect(await answer.json()).toMatchObject({
      ValidationErrors: ['Task group group task task: invalid config of driver "raw_exec": command is required'],
      ConfigFaults: [
        { TaskGroup: 'group', Task: 'task', Driver: 'raw_exec', Path: ['command'], Message: 'command is required' },
      ],
    });
  });

  it('PG-42, PG-112: references pass, and a driver that no machine has is not judged', async () => {
    const config = '        command = "${meta.shell}"\n        args = ["-c", "test $0 = main", "${NOMAD_TASK_NAME}"]';
    expect(await cli(['job', 'validate'], jobOf(config))).toMatchObject({ code: 0 });
    const run = await cli(['job', 'run', '-detach'], jobOf(config.replace('${meta.shell}', '/bin/${NOMAD_META_sh}')));
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(await cli(['job', 'validate'], jobOf('        anything = 1', 'podman'))).toMatchObject({ code: 0 });
  });
});
