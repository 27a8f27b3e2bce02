import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Allocation, HostVolume, Node, TaskGroupHostVolumeClaim } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Says where it was called, and makes a directory beside itself. */
const PLUGIN = `#!/bin/sh
case "$1" in
  fingerprint) echo '{"version":"1.0"}' ;;
  create) mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_NAME" && echo "{\\"path\\":\\"$DHV_VOLUMES_DIR/$DHV_VOLUME_NAME\\",\\"bytes\\":1024}" ;;
  delete) rm -rf "$DHV_CREATED_PATH" ;;
esac
`;
const CAPABILITY = [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }];

let waybill: WaybillProcesses;
const dirOf = (name: string): string => path.join(waybill.dir, `agent-${name}`);

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'nodes', 'volumes', 'api']);
  const plugins = path.join(dirOf('b'), 'host_volume_plugins');
  mkdirSync(plugins, { recursive: true });
  writeFileSync(path.join(plugins, 'named'), PLUGIN, { mode: 0o755 });
  for (const name of ['a', 'b']) await startAgent(name);
}, 120_000);
afterAll(async () => {
  for (const name of ['a', 'b']) await waybill?.kill(`agent-${name}`, 'SIGTERM');
  await waybill?.stop();
});

async function startAgent(name: string): Promise<void> {
  await waybill.startService('agent', `agent-${name}`, {
    WAYBILL_NODE_NAME: name,
    WAYBILL_AGENT_DIR: dirOf(name),
    WAYBILL_NODE_META: `rack=${name}`,
  });
  await eventually(`${name} is ready`, async () =>
    (await get<Node[]>('/v1/nodes')).some(({ Name, Status }) => Name === name && Status === 'ready'),
  );
}

const get = async <T>(route: string): Promise<T> => (await waybill.api.raw(route)).json() as Promise<T>;

async function send(method: string, route: string, body?: object): Promise<{ status: number; text: string }> {
  const answer = await waybill.api.raw(route, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, text: await answer.text() };
}

async function nodeCalled(name: string): Promise<Node> {
  const stub = (await get<Node[]>('/v1/nodes')).find((node) => node.Name === name);
  return get<Node>(`/v1/node/${stub?.ID}`);
}

async function created(Volume: Partial<HostVolume>): Promise<HostVolume> {
  const { status, text } = await send('PUT', '/v1/volume/host/create', {
    Volume: { PluginID: 'mkdir', RequestedCapabilities: CAPABILITY, ...Volume },
  });
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { Volume: HostVolume }).Volume;
}

const read = (id: string): Promise<HostVolume> => get<HostVolume>(`/v1/volume/host/${id}`);
const ready = (id: string): Promise<unknown> =>
  eventually('the volume is ready', async () => (await read(id)).State === 'ready');

/** A job that writes its allocation's ID into the volume and goes on. Resolves with its allocation once it has written. */
async function writing(id: string, source: string, sticky = false): Promise<Allocation> {
  const task = {
    Name: 'db',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', 'echo $NOMAD_ALLOC_ID >> srv/log; exec sleep 3600'] },
    VolumeMounts: [{ Volume: 'data', Destination: '/srv' }],
    Resources: { CPU: 20, MemoryMB: 20 },
  };
  const Volumes = { data: { Type: 'host', Source: source, Sticky: sticky, ...CAPABILITY[0] } };
  const Job = { ID: id, Type: 'service', Datacenters: ['*'], TaskGroups: [{ Name: 'db', Volumes, Tasks: [task] }] };
  expect((await send('PUT', '/v1/jobs', { Job })).status).toBe(200);
  return running(id);
}

async function running(job: string, not = ''): Promise<Allocation> {
  return eventually(`an allocation of ${job} runs`, async () => {
    const allocs = await get<Allocation[]>(`/v1/job/${job}/allocations`);
    return allocs.find(({ ID, ClientStatus }) => ClientStatus === 'running' && ID !== not);
  });
}

const written = (dir: string): string[] => readFileSync(path.join(dir, 'log'), 'utf8').trim().split('\n');

async function stopped(job: string): Promise<void> {
  await send('DELETE', `/v1/job/${job}`);
  await eventually(`${job} has ended`, async () => {
    const allocs = await get<Allocation[]>(`/v1/job/${job}/allocations`);
    return allocs.every(({ ClientStatus }) => ClientStatus === 'complete');
  });
}

describe('dynamic host volumes, end to end', () => {
  it('VL-283, VL-288, VL-289, VL-293: made where it may be, ready when the machine says so, and mounted by a job', async () => {
    const onB = { Constraints: [{ LTarget: '${meta.rack}', RTarget: 'b', Operand: '=' }] };
    const volume = await created({ Name: 'data', Parameters: { mode: '0755' }, ...onB });
    const node = await nodeCalled('b');
    expect(volume).toMatchObject({ NodeID: node.ID, NodePool: 'default', Namespace: 'default', PluginID: 'mkdir' });
    expect(statSync(volume.HostPath).mode & 0o777).toBe(0o755);
    await ready(volume.ID);
    expect((await nodeCalled('b')).HostVolumes['data']).toMatchObject({ ID: volume.ID, Path: volume.HostPath });
    const alloc = await writing('first', 'data');
    expect(alloc.NodeID).toBe(node.ID);
    await eventually('it has written', () => existsSync(path.join(volume.HostPath, 'log')));
    expect(written(volume.HostPath)).toEqual([alloc.ID]);

    const inUse = await send('DELETE', `/v1/volume/host/${volume.ID}`);
    expect(inUse).toEqual({ status: 409, text: `volume ${volume.ID} in use by allocations: [${alloc.ID}]` });
    expect(await get<object[]>(`/v1/volumes?type=host&node_id=${node.ID}&prefix=da`)).toHaveLength(1);
    await stopped('first');
    const gone = await send('DELETE', `/v1/volume/host/${volume.ID}`);
    expect([gone.status, Object.keys(JSON.parse(gone.text) as object)]).toEqual([200, ['Index']]);
    expect(existsSync(volume.HostPath)).toBe(false);
    await eventually('the node has forgotten it', async () => !('data' in (await nodeCalled('b')).HostVolumes));
    expect((await send('GET', `/v1/volume/host/${volume.ID}`)).status).toBe(404);
  });

  it('VL-294, VL-297: it outlives its agent, and who sticks to it comes back to it', async () => {
    const volumes = [await created({ Name: 'sticky' }), await created({ Name: 'sticky' })];
    expect(new Set(volumes.map(({ NodeID }) => NodeID)).size).toBe(2);
    for (const { ID } of volumes) await ready(ID);
    const first = await writing('sticks', 'sticky', true);
    const volume = volumes.find(({ NodeID }) => NodeID === first.NodeID);
    const name = (await nodeCalled('a')).ID === first.NodeID ? 'a' : 'b';
    const claims = await get<TaskGroupHostVolumeClaim[]>('/v1/volumes/claims?job_id=sticks');
    const filtered = (expression: string) => get(`/v1/volumes/claims?filter=${encodeURIComponent(expression)}`);
    expect(await filtered('JobID == "sticks"'), 'API-67').toEqual(claims);
    expect(await filtered('JobID == "other"')).toEqual([]);
    expect(claims).toMatchObject([{ VolumeID: volume?.ID, AllocID: first.ID, VolumeName: 'sticky' }]);
    await waybill.kill(`agent-${name}`, 'SIGTERM'); // its tasks end with it
    await startAgent(name);
    expect((await send('PUT', `/v1/allocation/${first.ID}/stop`)).status).toBe(200);
    const second = await running('sticks', first.ID);
    expect(second.NodeID).toBe(first.NodeID);
    const dir = volume?.HostPath ?? '';
    await eventually('the second has written', () => written(dir).at(-1) === second.ID);
    expect(written(dir)[0]).toBe(first.ID);
    expect((await read(volume?.ID ?? '')).State).toBe('ready');
    await stopped('sticks');

    const claim = claims[0]?.ID ?? '';
    const url = waybill.api.url;
    expect((await runCli(url, ['volume', 'claim', 'list', '-job', 'sticks', '-verbose'])).out).toContain(claim);
    expect(await runCli(url, ['volume', 'claim', 'delete', claim])).toMatchObject({
      code: 1,
      err: expect.stringContaining('requires -y option when running in non-interactive mode') as string,
    });
    expect((await runCli(url, ['volume', 'claim', 'delete', '-y', claim.slice(0, 8)])).out).toBe(
      `Task group host volume claim ${claim} successfully deleted\n`,
    );
    expect((await send('DELETE', `/v1/volumes/claim/${claim}`)).text).toBe('task group volume claim does not exist');
  });

  it('VL-295, CL-707, CL-708, CL-711: a plugin that somebody installed, from the command line', async () => {
    const file = path.join(waybill.dir, 'named.hcl');
    writeFileSync(
      file,
      'type = "host"\nname = "mine"\nplugin_id = "named"\ncapability {\n  access_mode = "single-node-writer"\n  attachment_mode = "file-system"\n}\n',
    );
    const url = waybill.api.url;
    const made = await runCli(url, ['volume', 'create', file]);
    const id = /Created host volume mine with ID (\S+)\n/.exec(made.out)?.[1] ?? '';
    expect([made.code, made.err]).toEqual([0, '']);
    if (made.out.startsWith('==> ')) expect(made.out).toMatch(/: Volume "mine" ready\n$/);
    expect(await read(id)).toMatchObject({ State: 'ready', CapacityBytes: 1024, NodeID: (await nodeCalled('b')).ID });
    expect(readdirSync(path.join(dirOf('b'), 'host_volumes'))).toContain('mine');
    expect((await runCli(url, ['volume', 'status', '-type', 'host', 'mine'])).out).toContain(`= ${id}`);
    expect((await runCli(url, ['volume', 'delete', '-type', 'host', 'mine'])).out).toBe(
      `Successfully deleted volume "${id}"!\n`,
    );
    expect(readdirSync(path.join(dirOf('b'), 'host_volumes'))).not.toContain('mine');
  });

  it('VL-291, VL-305, VL-306: a directory that is there is registered, and stays when the volume goes', async () => {
    const HostPath = path.join(waybill.dir, 'theirs');
    mkdirSync(HostPath);
    writeFileSync(path.join(HostPath, 'kept'), '');
    const Volume = { Name: 'theirs', NodeID: (await nodeCalled('a')).ID, HostPath, RequestedCapabilities: CAPABILITY };
    const registered = await send('POST', '/v1/volume/host/register/', { Volume });
    expect(registered.status, registered.text).toBe(200);
    const { ID, PluginID } = (JSON.parse(registered.text) as { Volume: HostVolume }).Volume;
    expect(PluginID).toBe('');
    await ready(ID);
    const again = await send('PUT', '/v1/volume/host/register', { Volume });
    expect(again).toEqual({
      status: 409,
      text: 'HostVolume.Register error: volume name already exists on this node',
    });
    expect((await send('DELETE', `/v1/volume/host/${ID}?force=maybe`)).status).toBe(400);
    expect((await send('DELETE', `/v1/volume/host/${ID}`)).status).toBe(200);
    expect(readdirSync(HostPath)).toEqual(['kept']);
    for (const [method, route] of [
      ['PUT', '/v1/volume/host/resize'],
      ['POST', `/v1/volume/host/${ID}`],
      ['PATCH', `/v1/volume/host/${ID}`],
    ] as const)
      expect(await send(method, route, {})).toEqual({ status: 404, text: 'resource not found' });
    expect(await send('PUT', '/v1/volume/host/create', {})).toEqual({ status: 400, text: 'missing volume definition' });
  });
});
