import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfiguredFlags, loadAgentConfig } from './agent-config.js';
import { agentStart } from './agent-start.js';
import { parseCommandLine } from '../command-line.js';
import { command } from '../commands/agent.js';

let directory: string;
beforeEach(() => void (directory = mkdtempSync(path.join(tmpdir(), 'waybill-config-'))));
afterEach(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const at = path.join(directory, name);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, text);
  return at;
}

async function start(...words: string[]) {
  const { flags } = parseCommandLine(command, 'agent', words);
  return agentStart(new ConfiguredFlags(flags, await loadAgentConfig(flags.list('config'))), '/tmp/own');
}

describe('CL-922: settings of the agent from files', () => {
  it('flags win over files, a later file over an earlier one; metadata is joined', async () => {
    const one = file(
      'one.hcl',
      'data_dir = "/one"\ndatacenter = "a"\nregion = "eu"\nclient {\n  enabled = true\n  meta { x = "1" }\n}',
    );
    const two = file('two.hcl', 'data_dir = "/two"\ndatacenter = "b"\nclient {\n  meta { y = "2" }\n}');
    const { mode, env } = await start(`-config=${one}`, '-config', two, '-dc=c', '-meta=x=3');
    expect(mode).toBe('client');
    expect(env).toMatchObject({
      WAYBILL_AGENT_DIR: '/two/agent',
      WAYBILL_DATACENTER: 'c',
      WAYBILL_REGION: 'eu',
      WAYBILL_NODE_META: 'x=1,y=2,x=3',
    });
  });

  it('a switch that is typed as false takes back what a file says', async () => {
    const both = file('both.hcl', 'data_dir = "/d"\nserver {\n  enabled = true\n}\nclient {\n  enabled = true\n}');
    expect((await start(`-config=${both}`)).mode).toBe('dev');
    expect((await start(`-config=${both}`, '-client=false')).mode).toBe('server');
  });

  it('a file in JSON is the same as one in HCL', async () => {
    const json = file(
      'agent.json',
      JSON.stringify({
        data_dir: '/d',
        client: [{ enabled: true, node_class: 'big', meta: { x: '1' }, host_volume: { a: { path: '/a' } } }],
        server: { enabled: false },
        telemetry: { prometheus_metrics: true },
        plugin: [{ docker: { config: { volumes: { enabled: true } } } }],
      }),
    );
    const { mode, env } = await start(`-config=${json}`);
    expect(mode).toBe('client');
    expect(env).toMatchObject({ WAYBILL_NODE_CLASS: 'big', WAYBILL_NODE_META: 'x=1', WAYBILL_AGENT_DIR: '/d/agent' });
    expect((await loadAgentConfig([json])).idle).toEqual(['host_volume', 'plugin.docker', 'telemetry']);
    await expect(loadAgentConfig([file('list.json', '{"client": {"host_volume": {"a": 1}}}')])).rejects.toThrow(
      /list.json:1,34-35: Invalid JSON; A block "host_volume" is a JSON object below its label/,
    );
  });

  it('PG-21: blocks of plugins and their directory are settings; a later file replaces what it gives of a block', async () => {
    const one = file(
      'one.hcl',
      'data_dir = "/d"\nplugin_dir = "/p"\nplugin "podman" {\n args = ["a"]\n config { x = 1 }\n}',
    );
    const two = file(
      'two.hcl',
      'client {\n  enabled = true\n}\nplugin "podman" {\n config { y = 2 }\n}\nplugin "gpu" {}',
    );
    const { env } = await start(`-config=${one}`, `-config=${two}`);
    expect(env['WAYBILL_PLUGIN_DIR']).toBe('/p');
    expect(JSON.parse(env['WAYBILL_PLUGINS']!)).toEqual({ podman: { args: ['a'], config: { y: 2 } }, gpu: {} });
  });

  it('of a directory the files in HCL, by name', async () => {
    file('conf/b.hcl', 'datacenter = "b"');
    file('conf/a.hcl', 'datacenter = "a"\nserver {\n  enabled = true\n}\ndata_dir = "/d"\nports { http = 5000 }');
    file('conf/notes.txt', '{{{');
    const { env, address } = await start(`-config=${path.join(directory, 'conf')}`);
    expect([env['WAYBILL_DATACENTER'], address]).toEqual(['b', 'http://127.0.0.1:5000']);
  });

  it('what cannot be loaded is named, with its place', async () => {
    const wrong = file('wrong.hcl', 'datacentr = "x"');
    await expect(start(`-config=${wrong}`)).rejects.toThrow(
      new RegExp(`^Error loading configuration from ${wrong}: .*wrong.hcl:1,1-10: Unsupported argument`),
    );
    const json = file('agent.json', '{\n  "client": [{"enabld": true}]\n}');
    await expect(start(`-config=${json}`)).rejects.toThrow(
      /agent.json:2,16-22: Unsupported argument; .* Did you mean "enabled"\?/,
    );
    await expect(start(`-config=${directory}/none`)).rejects.toThrow(
      /Error loading configuration from .*none: \w+ .*none: no such file/,
    );
    const idle = await loadAgentConfig([file('idle.hcl', 'telemetry {}\nvault { enabled = true }\n')]);
    expect(idle.idle).toEqual(['telemetry', 'vault']);
  });
});
