import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

let api: RecordedApi;
let directory: string;

beforeEach(async () => {
  api = await RecordedApi.start();
  directory = await mkdtemp(path.join(tmpdir(), 'waybill-pools-'));
});
afterEach(async () => {
  api.stop();
  await rm(directory, { recursive: true, force: true });
});

const file = (name: string) => path.join(directory, name);

describe('node pools as files', () => {
  it('CL-532: init writes an example that apply takes, and touches nothing that is there', async () => {
    const pool = file('pool.json');
    expect(await api.run(['node', 'pool', 'init', '-out', 'json', pool])).toMatchObject({
      code: 0,
      out: `Example node pool specification written to ${pool}\n`,
    });
    expect((await stat(pool)).mode & 0o007).toBe(0);
    await writeFile(file('mine'), 'mine');
    expect(await api.run(['node', 'pool', 'init', file('mine')])).toMatchObject({
      code: 1,
      err: `File "${file('mine')}" already exists\n`,
    });
    expect(await readFile(file('mine'), 'utf8')).toBe('mine');
    expect(await api.run(['node', 'pool', 'init', '-quiet', file('pool.hcl')])).toMatchObject({ code: 0, out: '' });
    expect(await readFile(file('pool.hcl'), 'utf8')).toContain('node_pool "example" {');
    expect(api.seen).toEqual([]);

    api.play('PUT /v1/node/pools', null);
    expect(await api.run(['node', 'pool', 'apply', pool])).toMatchObject({
      code: 0,
      out: 'Successfully applied node pool "example"!\n',
    });
    expect(JSON.parse(api.seen[0]!.body)).toEqual({
      Name: 'example',
      Description: 'Example node pool',
      Meta: { environment: 'prod', owner: 'sre' },
    });
  });

  it('CL-532: the same in HCL', async () => {
    await api.run(['node', 'pool', 'init', '-quiet', file('pool.hcl')]);
    api.play('PUT /v1/node/pools', null);
    expect(await api.run(['node', 'pool', 'apply', file('pool.hcl')])).toMatchObject({
      code: 0,
      out: 'Successfully applied node pool "example"!\n',
    });
    expect(JSON.parse(api.seen[0]!.body)).toMatchObject({
      Name: 'example',
      Description: 'Example node pool',
      Meta: { environment: 'prod', owner: 'sre' },
    });
  });

  it('CL-831: a namespace in HCL', async () => {
    api.play('PUT /v1/namespace', null);
    const text =
      'name = "team"\ndescription = "ours"\nmeta {\n  owner = "sre"\n}\ncapabilities {\n  enabled_task_drivers = ["raw_exec"]\n}\n';
    await writeFile(file('ns.hcl'), text);
    expect(await api.run(['namespace', 'apply', file('ns.hcl')])).toMatchObject({
      code: 0,
      out: 'Successfully applied namespace "team"!\n',
    });
    expect(JSON.parse(api.seen[0]!.body)).toMatchObject({
      Name: 'team',
      Description: 'ours',
      Meta: { owner: 'sre' },
      Capabilities: { EnabledTaskDrivers: ['raw_exec'] },
      NodePoolConfiguration: null,
    });
    await writeFile(file('ns.hcl'), 'description = "ours"\n');
    const { code, err } = await api.run(['namespace', 'apply', file('ns.hcl')]);
    expect([code, err]).toEqual([1, expect.stringContaining('name')]);
    expect(api.seen).toHaveLength(1);
  });

  it('CL-532: what cannot be read is not sent, and what the servers refuse is said', async () => {
    const apply = async (text: string) => {
      await writeFile(file('pool'), text);
      const { code, err } = await api.run(['node', 'pool', 'apply', file('pool')]);
      return [code, err.trim()];
    };
    expect(await apply('{"node_pool": {"a": {"colour": "red"}}}')).toEqual([
      1,
      'Failed to parse input content: node_pool "a" has no argument "colour"',
    ]);
    expect(await apply('{"node_pool": {}}')).toEqual([
      1,
      'Failed to parse input content: exactly one node_pool is needed, not 0',
    ]);
    const [, unknown] = await apply('node_pool "a" {\n  colour = "red"\n}\n');
    expect(unknown).toMatch(/^Failed to parse input content: [^]*pool:2[^]*colour/);
    expect((await apply('node_pool "a" {}\nnode_pool "b" {}'))[1]).toContain('exactly one node_pool is needed, not 2');
    expect((await apply('node_pool {'))[0]).toBe(1);
    expect(api.seen).toEqual([]);
    api.play('PUT /v1/node/pools', [400, 'modifying node pool "all" is not allowed']);
    const [code, err] = await apply('{"node_pool": {"all": {"node_identity_ttl": "1h"}}}');
    expect(code).toBe(1);
    expect(err).toContain('Error applying node pool: ');
    expect(err).toContain('modifying node pool "all" is not allowed');
    expect(JSON.parse(api.seen[0]!.body)).toEqual({ Name: 'all', NodeIdentityTTL: '1h' });
  });
});
