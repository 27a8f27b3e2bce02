import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Allocation, CSIVolume } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { runCli } from '../support/cli.js';
import { callsIn } from '../support/csi-plugin/directory-plugin.mjs';
import { canMount } from '../support/csi-plugin/disks.mjs';
import { VolumesCluster } from '../support/volumes-cluster.js';
import { eventually } from '../support/wait.js';

const INTERNAL = 13;

let cluster: VolumesCluster;

beforeAll(async () => {
  if (canMount) cluster = await VolumesCluster.start();
}, 300_000);
afterAll(async () => {
  if (canMount) await cluster.stop();
}, 60_000);

const needsMounts = (ctx: TestContext): void => ctx.skip(!canMount, 'mounting needs root');
const nameOf = ({ NodeID }: Allocation): string => cluster.state.tables.nodes.get(NodeID)?.Name ?? '';
const other = (name: string): string => (name === 'a' ? 'b' : 'a');
const freed = (alloc: Allocation): Promise<unknown> =>
  eventually(`the claim of ${alloc.ID} is freed`, () => cluster.freedOf(alloc) > 0, 90_000);

/** Drains the machine of the allocation, and waits until the job runs on the other one. */
async function moved(job: string, from: Allocation): Promise<Allocation> {
  const node = cluster.node(nameOf(from));
  await cluster.drain(node, true);
  const next = await cluster.running(job, from.ID);
  expect(nameOf(next)).toBe(other(node.Name));
  await eventually('the drain has ended', () => !cluster.state.tables.nodes.get(node.ID)?.DrainStrategy, 60_000);
  return next;
}

/** The machine takes work again, and has its plugin. */
async function backAgain(alloc: Allocation): Promise<void> {
  await cluster.drain(cluster.node(nameOf(alloc)), false);
  await cluster.pluginsHealthy(2);
}

const HOSTPATH = fileURLToPath(new URL('../support/csi-plugin/hostpath-like.mjs', import.meta.url));

describe('a plugin that is not ours', () => {
  it('CW-1, VL-97, VL-179: serves per_alloc volumes that nobody attaches, where it made them, and leaves nothing', async (ctx) => {
    needsMounts(ctx);
    const root = path.join(cluster.waybill.dir, 'hostpath');
    const args = [HOSTPATH, '--endpoint=${CSI_ENDPOINT}', '--nodeid=${node.unique.id}', `--statedir=${root}`];
    const job = cluster.pluginJobOf('hostpath', 'hostpath-plugin0', [...args, '--drivername=hostpath.csi.k8s.io']);
    await cluster.put('/v1/jobs', { Job: job });
    await cluster.pluginsHealthy(2, 'hostpath-plugin0');
    const { Provider } = cluster.state.tables.csi_plugins.get('hostpath-plugin0') ?? {};
    expect(Provider).toBe('hostpath.csi.k8s.io');

    const disks: string[] = [];
    for (const ID of ['vol[0]', 'vol[1]']) {
      const modes = ['single-node-reader-only', 'single-node-writer'];
      const RequestedCapabilities = modes.map((AccessMode) => ({ AccessMode, AttachmentMode: 'file-system' }));
      const sizes = { RequestedCapacityMin: 1_000_000, RequestedCapacityMax: 1_000_000_000 };
      const Volumes = [{ ID, Name: ID, PluginID: 'hostpath-plugin0', RequestedCapabilities, ...sizes }];
      const made = await cluster.put<{ Volumes: CSIVolume[] }>(`/v1/volume/csi/${encodeURIComponent(ID)}/create`, {
        Volumes,
      });
      expect(made.Volumes[0]?.Topologies).toHaveLength(1);
      disks.push(made.Volumes[0]?.ExternalID ?? '');
    }
    const written = (disk: string) =>
      readFileSync(path.join(root, 'disks', disk, 'log'), 'utf8')
        .trim()
        .split('\n');
    const claimants = () => ['vol[0]', 'vol[1]'].flatMap((id) => Object.keys(cluster.volume(id)?.WriteClaims ?? {}));
    for (const times of [1, 2]) {
      await cluster.run('pair', 'vol', { count: 2, perAlloc: true });
      await eventually(
        `both have written ${times} times`,
        () => disks.every((disk) => written(disk).length === times),
        60_000,
      );
      await cluster.delete('/v1/job/pair');
      await eventually('both are free', () => claimants().length === 0, 60_000);
    }
    for (const id of ['vol%5B0%5D', 'vol%5B1%5D']) {
      // The copy of the state here may be ahead of the one that is asked.
      const answer = await eventually(`${id} is free there too`, async () => {
        const { status, text } = await cluster.delete(`/v1/volume/csi/${id}/delete`);
        return !text.startsWith('volume in use') && { status, text };
      });
      expect(answer).toEqual({ status: 200, text: '' });
    }
    for (const name of ['a', 'b']) expect(cluster.mounts(name)).toEqual([]);
    await cluster.delete('/v1/job/hostpath?purge=true');
    const agents = [...cluster.state.tables.nodes.all()].map(({ ID }) => path.join(root, `calls-${ID}.jsonl`));
    const methods = new Set(agents.flatMap(callsIn).map(({ method }) => method));
    expect(methods).not.toContain('ControllerPublishVolume');
    expect(methods).toContain('NodeUnstageVolume');
  }, 180_000);
});

describe('a stateful job', () => {
  it('VL-180, VL-193: moves to another machine with its data when its own is drained', async (ctx) => {
    needsMounts(ctx);
    const disk = await cluster.create('db');
    await cluster.run('db', 'db');
    const first = await cluster.running('db');
    await eventually('it writes', () => cluster.written(disk).length === 1);
    const second = await moved('db', first);
    await eventually('it writes below what it found', () => cluster.written(disk).length === 2);
    expect(cluster.written(disk)).toEqual([first.ID, second.ID]);
    expect(cluster.freedOf(first)).toBe(1);
    expect(Object.keys(cluster.volume('db')?.WriteClaims ?? {})).toEqual([second.ID]);
    expect(cluster.disks.provided.attached).toEqual([{ disk, node: second.NodeID }]);
    // The plugin went last, so that nothing stayed mounted.
    expect(cluster.mounts(nameOf(first))).toEqual([]);
    await backAgain(first);
  }, 180_000);

  it('VL-119, VL-146, VL-232: again with a plugin that fails three times at each step', async (ctx) => {
    needsMounts(ctx);
    const first = await cluster.running('db');
    const [disk = ''] = cluster.disks.provided.disks.map(({ id }) => id);
    const [before, detached] = [cluster.written(disk), cluster.calls('ControllerUnpublishVolume', disk)];
    cluster.faults.set({
      NodeUnpublishVolume: { code: INTERNAL, times: 3 },
      ControllerUnpublishVolume: { code: INTERNAL, times: 3 },
    });
    const second = await moved('db', first);
    cluster.faults.set({});
    await eventually('it writes below what it found', () => cluster.written(disk).length > before.length);
    expect(cluster.written(disk)).toEqual([...before, second.ID]);
    expect(cluster.freedOf(first)).toBe(1);
    // The instance on the drained machine may end meanwhile, and the other one then fails three times of its own.
    expect(cluster.calls('ControllerUnpublishVolume', disk) - detached).toBeGreaterThanOrEqual(4);
    expect(cluster.mounts(nameOf(first))).toEqual([]);
    await backAgain(first);
  }, 240_000);
});

describe('a claim is given back', () => {
  /** A job that runs with a volume of its own, and then is stopped while its provider takes its time. */
  async function stopping(id: string): Promise<{ alloc: Allocation; disk: string }> {
    const disk = await cluster.create(id);
    await cluster.run(id, id);
    const alloc = await cluster.running(id);
    cluster.faults.set({ ControllerUnpublishVolume: { slowMs: 4_000 } });
    await cluster.api.stop(id);
    await eventually('the provider is asked', () => cluster.calls('ControllerUnpublishVolume', disk) > 0, 60_000);
    return { alloc, disk };
  }
  const attached = (disk: string): boolean => cluster.disks.provided.attached.some((one) => one.disk === disk);

  it('VL-131, VL-301: once, though the holder of the role is killed in the middle of a call', async (ctx) => {
    needsMounts(ctx);
    const { alloc, disk } = await stopping('killed');
    await cluster.waybill.kill('volumes');
    expect(cluster.freedOf(alloc)).toBe(0);
    await cluster.waybill.startService('volumes');
    await freed(alloc);
    cluster.faults.set({});
    expect(cluster.freedOf(alloc)).toBe(1);
    expect(attached(disk)).toBe(false);
    expect(cluster.calls('ControllerUnpublishVolume', disk)).toBeLessThanOrEqual(2);
  }, 120_000);

  it('VL-55, VL-142: or is nobody’s business any more, when its volume is deregistered by force meanwhile', async (ctx) => {
    needsMounts(ctx);
    const { alloc, disk } = await stopping('forced');
    await eventually(
      'the task has ended',
      () => cluster.state.tables.allocs.get(alloc.ID)?.ClientStatus === 'complete',
    );
    expect(await cluster.delete('/v1/volume/csi/forced')).toEqual({ status: 409, text: 'volume in use: forced' });
    expect(await cluster.delete('/v1/volume/csi/forced?force=true')).toEqual({ status: 200, text: '' });
    cluster.faults.set({});
    await eventually('the provider has let go', () => !attached(disk));
    // Who was in the middle of it has lost nothing but this.
    const next = await cluster.create('after');
    expect(await cluster.delete('/v1/volume/csi/after/delete')).toEqual({ status: 200, text: '' });
    expect(cluster.disks.provided.disks.some(({ id }) => id === next)).toBe(false);
  }, 120_000);
});

describe('whoever is asked dies in the middle of it', () => {
  /** Controllers are asked in this order (VL-127). */
  const firstNode = () => [...cluster.state.tables.nodes.all()].toSorted((a, b) => (a.ID < b.ID ? -1 : 1))[0]!;
  /** A fraction of what a call may take, so that only word of the death can have come in time. */
  const WITHOUT_TIMEOUT_MS = 150_000;

  it('VL-127, VL-129: a machine: its plugin is asked elsewhere, and nobody waits behind the call that died', async (ctx) => {
    needsMounts(ctx);
    const disk = await cluster.create('orphan');
    await cluster.run('orphan', 'orphan');
    const alloc = await cluster.running('orphan');
    const asked = firstNode();
    cluster.faults.set({ ControllerUnpublishVolume: { never: true } });
    await cluster.api.stop('orphan');
    await eventually('the provider is asked', () => cluster.calls('ControllerUnpublishVolume', disk) > 0, 60_000);
    await cluster.waybill.kill(`agent-${asked.Name}`);
    cluster.faults.set({});
    await cluster.startAgent(asked.Name);
    await eventually('its claim is freed', () => cluster.freedOf(alloc) > 0, WITHOUT_TIMEOUT_MS);
    expect(cluster.disks.provided.attached.some((one) => one.disk === disk)).toBe(false);
    await cluster.pluginsHealthy(2);
  }, 300_000);

  it('VL-102, VL-131: the holder of the role: the claim is asked for again, and the job runs', async (ctx) => {
    needsMounts(ctx);
    const disk = await cluster.create('heir');
    cluster.faults.set({ ControllerPublishVolume: { never: true } });
    await cluster.run('heir', 'heir');
    await eventually('the provider is asked', () => cluster.calls('ControllerPublishVolume', disk) > 0, 60_000);
    await cluster.waybill.kill('volumes');
    cluster.faults.set({});
    // The plugin never answers the call that the old holder sent, and its machine makes one at a time.
    const asked = firstNode();
    await cluster.waybill.kill(`agent-${asked.Name}`);
    await cluster.startAgent(asked.Name);
    await cluster.waybill.startService('volumes');
    await cluster.running('heir', '', WITHOUT_TIMEOUT_MS);
    await cluster.api.stop('heir');
    await eventually('it is free', () => Object.keys(cluster.volume('heir')?.WriteClaims ?? {}).length === 0, 60_000);
    await cluster.pluginsHealthy(2);
  }, 300_000);
});

describe('operators', () => {
  it('VL-266, VL-1, VL-17: a volume is answered as it is stored, without its secrets', async (ctx) => {
    needsMounts(ctx);
    const disk = await cluster.create('mine');
    const again = {
      ID: 'mine',
      ExternalID: disk,
      PluginID: 'disks',
      Secrets: { key: 'other' },
      RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
      ReadAllocs: { bogus: null },
    };
    const answer = await cluster.put<{ Volumes: CSIVolume[]; Index: number }>('/v1/volumes', { Volumes: [again] });
    expect(answer).toMatchObject({
      Volumes: [{ ID: 'mine', ExternalID: disk, Secrets: null, ReadAllocs: {}, Schedulable: true }],
      Warnings: '',
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    });
    expect(await cluster.api.get('/v1/volume/csi/mine')).toMatchObject({ ModifyIndex: answer.Index });
  });

  it('VL-200, VL-272: see what the provider has', async (ctx) => {
    needsMounts(ctx);
    const page = await cluster.api.get<{ Volumes: object[] }>('/v1/volumes/external?plugin_id=disks');
    expect(page).toMatchObject({ NextToken: '', KnownLeader: true });
    expect(page.Volumes.length).toBe(cluster.disks.provided.disks.length);
  });

  it('VL-195 to VL-199: take, list and delete snapshots', async (ctx) => {
    needsMounts(ctx);
    const Snapshots = [{ SourceVolumeID: 'mine', Name: 'nightly' }];
    const taken = await cluster.put<{ Snapshots: { ID: string }[] }>('/v1/volumes/snapshot', { Snapshots });
    const [{ ID } = { ID: '' }] = taken.Snapshots;
    const listed = await cluster.api.get<{ Snapshots: object[] }>('/v1/volumes/snapshot?plugin_id=disks');
    expect(listed.Snapshots).toMatchObject([{ ID, IsReady: true, PluginID: 'disks' }]);
    const of = `plugin_id=disks&snapshot_id=${encodeURIComponent(ID)}`;
    expect(await cluster.delete(`/v1/volumes/snapshot?${of}`)).toEqual({ status: 200, text: '' });
    expect(await cluster.api.get('/v1/volumes/snapshot?plugin_id=disks')).toMatchObject({ Snapshots: [] });
  });

  it.each([
    ['PUT', '/v1/volumes', '{', 400, /JSON/],
    ['PUT', '/v1/volumes', '{"Volumes":[]}', 400, /^missing volume definition$/],
    ['PUT', '/v1/volume/csi/x', '{"Volumes":[{}]}', 400, /^validation: missing volume id, missing plugin id, must/],
    ['PUT', '/v1/volume/csi/x/other', '{}', 404, /^resource not found$/],
    ['DELETE', '/v1/volume/csi/x/other', undefined, 404, /^resource not found$/],
    ['GET', '/v1/volume/csi/x/create', undefined, 405, /^Invalid method$/],
    ['POST', '/v1/volume/csi/x', '{}', 405, /^Invalid method$/],
    ['POST', '/v1/volume/csi/x/create', '{}', 405, /^Invalid method$/],
    ['GET', '/v1/volume/csi/x/y/z', undefined, 404, /^resource not found$/],
    ['DELETE', '/v1/volume/csi/gone', undefined, 404, /^volume not found: gone$/],
    ['DELETE', '/v1/volume/csi/gone?force=maybe', undefined, 400, /^invalid force value$/],
    ['DELETE', '/v1/volume/csi/gone?force=T', undefined, 404, /^volume not found: gone$/],
    ['DELETE', '/v1/volume/csi/vol%5B0%5D/delete', undefined, 404, /^volume not found: vol\[0\]$/],
    ['DELETE', '/v1/volume/csi/gone/detach', undefined, 400, /^detach requires node ID$/],
    ['DELETE', '/v1/volume/csi/gone/detach?node=x', undefined, 404, /^no such volume$/],
    ['GET', '/v1/volumes/external?plugin_id=nobody', undefined, 404, /^no such plugin$/],
    ['GET', '/v1/volumes/snapshot?plugin_id=nobody', undefined, 404, /^no such plugin$/],
    ['DELETE', '/v1/volumes/snapshot?plugin_id=nobody', undefined, 404, /^no such plugin$/],
    ['PUT', '/v1/volumes/snapshot', '{"Snapshots":[null]}', 400, /^snapshot cannot be nil$/],
  ] as const)(
    'API-220, API-222, API-223, VL-9, VL-11, VL-158, VL-267, VL-269, VL-270: %s %s %s is %d',
    async (method, route, body, status, text) => {
      if (!canMount) return;
      const answer = await cluster.api.raw(route, { method, ...(body !== undefined && { body }) });
      expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(text)]);
    },
  );
});

describe('the command line', () => {
  const run = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await runCli(cluster.api.url, words);
    expect(code, err).toBe(0);
    return out;
  };
  const failing = async (...words: string[]): Promise<string> => {
    const { code, err } = await runCli(cluster.api.url, words);
    expect(code).toBe(1);
    return err.trim();
  };

  it('API-538, CL-706, CL-707: an example is written, and created as it is', async (ctx) => {
    needsMounts(ctx);
    const file = path.join(cluster.waybill.dir, 'volume.hcl');
    expect(await run('volume', 'init', file)).toBe(`Example volume specification written to ${file}\n`);
    expect(await failing('volume', 'init', file)).toBe(`Volume specification "${file}" already exists`);
    expect(await run('volume', 'create', file)).toBe('Created external volume disk-database with ID database\n');
    const json = `${file}.json`;
    await run('volume', 'init', '-json', json);
    expect(await run('volume', 'register', json)).toBe('Volume "database" registered\n');
  });

  it('CL-707: what a file must say', async (ctx) => {
    needsMounts(ctx);
    const file = path.join(cluster.waybill.dir, 'bad.hcl');
    const registering = (text: string): Promise<string> => {
      writeFileSync(file, text);
      return failing('volume', 'register', file);
    };
    expect(await registering('id = "x"')).toContain('Error parsing the volume type: ');
    expect(await registering('type = "tape"')).toBe('Error unknown volume type: tape');
    expect(await registering('type = "csi"\nplugin = "disks"')).toContain('Error decoding the volume definition: ');
  });

  it('API-537, CL-701, CL-702, CL-703, CL-704: status of all and of one', async (ctx) => {
    needsMounts(ctx);
    const all = await run('volume', 'status');
    expect(all).toContain('Dynamic Host Volumes\n');
    expect(all).toMatch(/\n\nContainer Storage Interface\nID +Name +Namespace +Plugin ID +Schedulable +Access Mode\n/);
    expect(all).toMatch(/\ndatabase +database +default +disks +true +<none>\n/);
    expect(await run('volume', 'status', '-type', 'csi', '-verbose')).toMatch(
      /\n\nExternal ID +Condition +Nodes\n(.*\n)*disk-database +OK +<none>/,
    );
    const one = await run('volume', 'status', 'datab');
    expect(one).toMatch(/^ID += database\n/);
    expect(one).toMatch(/Mount Options += fs_type: ext4 flags: \[REDACTED\]\n/);
    expect(one).toMatch(/\nCapabilities\nAccess Mode +Attachment Mode\nsingle-node-writer +file-system\n/);
    expect(await failing('volume', 'status', 'nowhere')).toBe(
      'no host volumes with prefix or ID "nowhere" found\nno volumes with prefix or ID "nowhere" found',
    );
    expect(await failing('volume', 'status', '-type', 'csi', '-node', 'x')).toBe(
      '-node and -node-pool can only be used with -type host',
    );
    expect(JSON.parse(await run('volume', 'status', '-json'))).toMatchObject({
      HostVolumes: [],
      CSIVolumes: expect.arrayContaining([expect.objectContaining({ ID: 'database' })]),
    });
  });

  it('API-538, CL-709, VL-273: nothing is left of a node that nobody knows', async (ctx) => {
    needsMounts(ctx);
    expect(await run('volume', 'detach', 'database', 'f00d')).toBe('');
    expect(await failing('volume', 'detach', 'nowhere', 'f00d')).toBe('no volumes with prefix or ID "nowhere" found');
  });

  it('CL-712: snapshots', async (ctx) => {
    needsMounts(ctx);
    expect(await run('volume', 'snapshot', 'create', 'database', 'nightly')).toMatch(
      /^Snapshot ID +Volume ID +Size +Create Time +Ready\?\n\S+ +disk-databas +\S.* true\n$/,
    );
    const listed = await run('volume', 'snapshot', 'list', '-plugin', 'disks');
    const [, id = ''] = /\n(\S+) /.exec(listed) ?? [];
    expect(await run('volume', 'snapshot', 'delete', 'disks', id)).toBe('');
    expect(await run('volume', 'snapshot', 'list', '-plugin', 'disks')).toBe('');
    expect(await failing('volume', 'snapshot', 'list', '-plugin', 'nobody')).toBe(
      'No plugins(s) with prefix or ID "nobody" found',
    );
  });

  it('API-538, CL-710, CL-711: deleted, or forgotten and registered again', async (ctx) => {
    needsMounts(ctx);
    expect(await run('volume', 'deregister', '-force', '-yes', 'database')).toBe(
      'Successfully deregistered volume "database"!\n',
    );
    const file = path.join(cluster.waybill.dir, 'again.hcl');
    const example = readFileSync(path.join(cluster.waybill.dir, 'volume.hcl'), 'utf8');
    writeFileSync(file, example.replace('# external_id = "vol-1234"', 'external_id = "disk-database"'));
    expect(await run('volume', 'register', file)).toBe('Volume "database" registered\n');
    expect(await failing('volume', 'delete', '-secret', 'nothing', 'database')).toBe(
      'Secret must be in the format: -secret key=value',
    );
    expect(await run('volume', 'delete', '-secret', 'k=v', 'database')).toBe(
      'Successfully deleted volume "database"!\n',
    );
    expect(cluster.disks.find('disk-database')).toBeUndefined();
  });

  it('API-539, CL-721: plugins', async (ctx) => {
    needsMounts(ctx);
    expect(await run('plugin', 'status')).toMatch(
      /^Container Storage Interface\nID +Provider +Controllers Healthy\/Expected +Nodes Healthy\/Expected\ndisks +directory.csi.waybill +2\/2 +2\/2\n$/,
    );
    expect(await run('plugin', 'status', 'di')).toMatch(/^ID += disks\n/);
    expect(await failing('plugin', 'status', '-type', 'tape')).toBe('Unsupported plugin type: tape');
  });
});

describe('a machine that never comes back', () => {
  it('VL-107, VL-115, VL-151: gives its volumes to the machine that takes over, once', async (ctx) => {
    needsMounts(ctx);
    const lost = await cluster.running('db');
    const [disk = ''] = cluster.disks.provided.disks.map(({ id }) => id);
    const before = cluster.written(disk);
    await cluster.waybill.kill(`agent-${nameOf(lost)}`);
    const next = await cluster.running('db', lost.ID, 150_000);
    expect(nameOf(next)).toBe(other(nameOf(lost)));
    await eventually('it writes below what it found', () => cluster.written(disk).length > before.length);
    expect(cluster.written(disk)).toEqual([...before, next.ID]);
    expect(cluster.freedOf(lost)).toBe(1);
    expect(cluster.disks.provided.attached).toContainEqual({ disk, node: next.NodeID });
  }, 240_000);
});
