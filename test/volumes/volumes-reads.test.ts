import { CLAIM_STATE, type CSIVolumeRegistration } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BOOL, INT, STRING } from '../support/official-client.js';
import { eventually } from '../support/wait.js';
import { DATE, listOf, mapOf, orNull } from '../support/web-ui-shapes.js';
import { type Answer, WrittenCluster } from '../support/written-cluster.js';

const { aCSIClaim, aControllerPlugin, aGroup, aHostVolume, aJob, anAlloc, anEval, aNode, aNodePlugin } = fixtures;
const { aPlanResult, aRegistration, aVolumeRegistration, aVolumeRequest, uuid } = fixtures;

const [NODE, OTHER_NODE, HOST_VOLUME] = [uuid(0xaa), uuid(0xbb), uuid(0xcc)] as const;
const [READER, WRITER, GONE] = [uuid(1), uuid(2), uuid(3)] as const;
const SECRET = 'correct-horse';
const MULTI = 'multi-node-multi-writer';

let cluster: WrittenCluster;
let last = 0;

const register = (over: Partial<CSIVolumeRegistration>) =>
  cluster.write('CSIVolumeRegister', { Volumes: [aVolumeRegistration(over)] });
const claim = (AllocationID: string, Mode: 0 | 1) =>
  cluster.write('CSIVolumeClaim', {
    VolumeID: 'vol-01',
    Claim: aCSIClaim({ AllocationID, Mode, NodeID: NODE, AccessMode: MULTI }),
  });
const json = async <T = Record<string, unknown>>(path: string): Promise<T> => {
  const { status, text } = await cluster.get(path);
  expect(status, text).toBe(200);
  return JSON.parse(text) as T;
};
const idsOf = async (path: string) => (await json<{ ID: string }[]>(path)).map(({ ID }) => ID);

beforeAll(async () => {
  cluster = await WrittenCluster.start();
  await cluster.write('NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
  const reports = {
    CSINodePlugins: { disks: aNodePlugin({ AllocID: WRITER }) },
    CSIControllerPlugins: { disks: aControllerPlugin() },
    HostVolumes: { data: { Name: 'data', Path: '/data', ReadOnly: false, ID: HOST_VOLUME } },
  };
  await cluster.write('NodeRegister', { Node: aNode({ ID: NODE, ...reports }), CreateNodePool: false });
  await cluster.write('NodeRegister', { Node: aNode({ ID: OTHER_NODE }), CreateNodePool: false });
  const capability = [{ AccessMode: MULTI, AttachmentMode: 'file-system' }];
  await register({
    ID: 'vol-01',
    Name: 'first',
    RequestedCapabilities: capability,
    Secrets: { key: SECRET },
    MountOptions: { FSType: 'ext4', MountFlags: [`password=${SECRET}`] },
  });
  await register({ ID: 'vol-02' });
  await register({ ID: 'vol-03', Namespace: 'team' });
  await register({ ID: 'vol-04' });
  await register({ ID: 'vol-05', PluginID: 'shares', Provider: 'shares.example' });
  await register({ ID: 'data[0]' });
  const Volumes = {
    csi: aVolumeRequest({ Source: 'vol-01' }),
    each: aVolumeRequest({ Source: 'data', PerAlloc: true }),
    host: aVolumeRequest({ Type: 'host', Source: 'data' }),
  };
  const job = aJob({ ID: 'db', TaskGroups: [aGroup({ Volumes })] });
  const Eval = anEval({ JobID: 'db' });
  await cluster.write('JobRegister', aRegistration(job, { Eval }));
  const AllocsUpdated = [READER, WRITER, GONE].map((ID) => anAlloc({ ID, NodeID: NODE, Job: job }));
  await cluster.write('ApplyPlanResults', aPlanResult({ Job: job, AllocsUpdated, EvalID: Eval.ID }));
  await claim(WRITER, 1);
  await claim(READER, 0);
  await claim(GONE, 0);
  await cluster.write('EvalDelete', { EvalIDs: [], AllocIDs: [GONE], ScanIndex: 1_000, UserInitiated: false });
  const volume = aHostVolume({ ID: HOST_VOLUME, NodeID: NODE, State: 'pending' });
  last = await cluster.write('HostVolumeRegister', { Volume: volume });
  await eventually('all of it can be read', async () => {
    return (await cluster.get(`/v1/volume/host/${HOST_VOLUME}`)).index === last;
  });
});
afterAll(() => cluster?.stop());

describe('reading CSI volumes', () => {
  it('API-21, VL-1, VL-2, VL-71, VL-264: a volume with its health, who holds it, and neither secrets nor claims', async () => {
    const answer = await cluster.get('/v1/volume/csi/vol-01');
    expect(answer.text).not.toContain(SECRET);
    const volume = JSON.parse(answer.text) as Record<string, unknown>;
    expect(volume).toMatchObject({
      ID: 'vol-01',
      Secrets: null,
      MountOptions: { FSType: 'ext4', MountFlags: ['[REDACTED]'] },
      AccessMode: MULTI,
      Schedulable: true,
      ControllerRequired: true,
      ControllersHealthy: 1,
      NodesHealthy: 1,
      ReadAllocs: { [READER]: null, [GONE]: null },
      WriteAllocs: { [WRITER]: null },
      Allocations: [{ ID: READER, JobID: 'db' }, { ID: WRITER }],
      ResourceExhausted: null,
    });
    expect(Object.keys(volume).filter((member) => member.endsWith('Claims'))).toEqual([]);
    const missing = await cluster.get('/v1/volume/csi/vol-03');
    expect([missing.status, missing.text]).toEqual([404, 'volume not found']);
    expect(missing.index).toBeGreaterThan(1);
    expect(await json('/v1/volume/csi/vol-03?namespace=team')).toMatchObject({ Namespace: 'team' });
  });

  it('what the storage pages of the official web UI take from them without asking', async () => {
    const health = { Schedulable: BOOL, ControllerRequired: BOOL, ControllersHealthy: INT, ControllersExpected: INT };
    const common = {
      ID: STRING,
      Namespace: STRING,
      Name: STRING,
      PluginID: STRING,
      Provider: STRING,
      ExternalID: STRING,
    };
    const VOLUME = { ...common, ...health, NodesHealthy: INT, NodesExpected: INT, AccessMode: STRING };
    const list = await json<object[]>('/v1/volumes?namespace=%2A&type=csi');
    expect(list).toHaveLength(6);
    for (const one of list) expect(one).toMatchObject({ ...VOLUME, CurrentReaders: INT, CurrentWriters: INT });
    // Its allocations are told apart by the two maps, and read like those of every other list.
    const volume = await json<{ Allocations: object[] }>('/v1/volume/csi/vol-01');
    expect(volume).toMatchObject({ ...VOLUME, ReadAllocs: expect.any(Object), WriteAllocs: expect.any(Object) });
    expect(volume.Allocations).toEqual(listOf({ JobID: 'db', NodeID: NODE, TaskGroup: STRING, ClientStatus: STRING }));
    const INSTANCE = {
      AllocID: STRING,
      Provider: STRING,
      Healthy: BOOL,
      HealthDescription: STRING,
      UpdateTime: orNull(DATE),
    };
    const { Controllers, Nodes } = await json('/v1/plugin/csi/disks');
    expect([Controllers, Nodes]).toEqual(listOf(mapOf(INSTANCE)));
  });

  it('VL-64: without its plugin it stays readable, and cannot be scheduled', async () => {
    expect(await json('/v1/volume/csi/vol-05')).toMatchObject({
      Schedulable: false,
      Provider: 'shares.example',
      NodesHealthy: 0,
    });
  });

  it('VL-270: IDs are decoded', async () => {
    expect(await json('/v1/volume/csi/data%5B0%5D')).toMatchObject({ ID: 'data[0]' });
    expect(await json('/v1/volume/csi/data[0]')).toMatchObject({ ID: 'data[0]' });
  });

  it('VL-258, VL-271: without a type there are none; another one is not there, for plugins it is empty', async () => {
    const said = async (path: string): Promise<[number, string]> => {
      const { status, text } = await cluster.get(path);
      return [status, text];
    };
    expect(await said('/v1/volumes')).toEqual([200, '[]']);
    expect(await said('/v1/volumes?type=nfs')).toEqual([404, 'resource not found']);
    expect(await said('/v1/plugins')).toEqual([200, '[]']);
    expect(await said('/v1/plugins?type=nfs')).toEqual([200, '']);
    expect((await cluster.put('/v1/plugins?type=csi')).status).toBe(405);
  });

  it('VL-259, VL-263: in the order of namespace and ID, page by page; none is an empty list', async () => {
    expect(await idsOf('/v1/volumes?type=csi')).toEqual(['data[0]', 'vol-01', 'vol-02', 'vol-04', 'vol-05']);
    expect(await idsOf('/v1/volumes?type=csi&namespace=*')).toContain('vol-03');
    const first = await cluster.get('/v1/volumes?type=csi&per_page=2&prefix=vol');
    expect(first.nextToken).toBe('default.vol-04');
    expect(await idsOf('/v1/volumes?type=csi&per_page=2&next_token=default.vol-04')).toEqual(['vol-04', 'vol-05']);
    expect(await idsOf('/v1/volumes?type=csi&per_page=1&next_token=default.vol-03')).toEqual(['vol-04']);
    expect((await cluster.get('/v1/volumes?type=csi&namespace=elsewhere')).text).toBe('[]');
    const [stub] = await json<object[]>('/v1/volumes?type=csi&prefix=vol-01');
    expect(stub).toMatchObject({ CurrentReaders: 2, CurrentWriters: 1, Schedulable: true, NodesHealthy: 1 });
  });

  it('VL-260: a filter sees what clients see, and an unreadable one is refused', async () => {
    const filtered = (expression: string) =>
      cluster.get(`/v1/volumes?type=csi&filter=${encodeURIComponent(expression)}`);
    const ids = ({ text }: Answer) => (JSON.parse(text) as { ID: string }[]).map(({ ID }) => ID);
    expect(ids(await filtered('ID matches "^vol-0[12]"'))).toEqual(['vol-01', 'vol-02']);
    expect(ids(await filtered('Provider == "shares.example"'))).toEqual(['vol-05']);
    expect(ids(await filtered('MountOptions.FSType == "ext4" and WriteAllocs is not empty'))).toEqual(['vol-01']);
    const bad = await filtered('ID ==');
    expect([bad.status, bad.text]).toEqual([400, expect.stringContaining('failed to read filter expression')]);
    const guess = await filtered(`Secrets.key == "${SECRET}"`);
    expect(guess.status === 400 || guess.text === '[]').toBe(true);
  });

  it('VL-261: prefix, plugin and node together, in one namespace or in all', async () => {
    expect(await idsOf('/v1/volumes?type=csi&prefix=vol&plugin_id=shares')).toEqual(['vol-05']);
    expect(await idsOf('/v1/volumes?type=csi&prefix=vol-03&plugin_id=disks&namespace=*')).toEqual(['vol-03']);
    expect(await idsOf('/v1/volumes?type=csi&plugin_id=nobody')).toEqual([]);
  });

  it('VL-262, VL-179: what allocations of a node have asked for, each by its own name', async () => {
    expect(await idsOf(`/v1/volumes?type=csi&node_id=${NODE}`)).toEqual(['data[0]', 'vol-01']);
    expect(await idsOf(`/v1/volumes?type=csi&node_id=${NODE}&prefix=vol&plugin_id=disks`)).toEqual(['vol-01']);
    expect(await idsOf(`/v1/volumes?type=csi&node_id=${OTHER_NODE}`)).toEqual([]);
    expect(await idsOf(`/v1/volumes?type=csi&node_id=${NODE}&namespace=team`)).toEqual([]);
  });

  it('API-53, VL-265: a write of the volume wakes a read that waits for it, also one that only wakes the watcher', async () => {
    const { index } = await cluster.get('/v1/volume/csi/vol-01');
    const waiting = cluster.get(`/v1/volume/csi/vol-01?index=${index}&wait=20s`);
    const list = cluster.get(`/v1/volumes?type=csi&index=${index}&wait=20s`);
    const Claim = aCSIClaim({ AllocationID: '', Mode: 2, State: CLAIM_STATE.unpublishing });
    const written = await cluster.write('CSIVolumeClaim', { VolumeID: 'vol-01', Claim });
    expect([(await waiting).index, (await list).index]).toEqual([written, written]);
  });
});

describe('reading plugins and host volumes', () => {
  it('API-226, VL-203: a plugin with the allocations that are its instances', async () => {
    expect(await json('/v1/plugin/csi/disks')).toMatchObject({
      ID: 'disks',
      Provider: 'disks.example',
      Controllers: { [NODE]: { Healthy: true } },
      Nodes: { [NODE]: { AllocID: WRITER } },
      Allocations: [{ ID: WRITER }],
      NodesHealthy: 1,
    });
    expect(await json('/v1/plugin/csi/disks?namespace=team')).toMatchObject({ Allocations: [] });
    const missing = await cluster.get('/v1/plugin/csi/nobody');
    expect([missing.status, missing.text]).toEqual([404, 'plugin not found']);
    expect(await json('/v1/plugins?type=csi&prefix=di')).toEqual([
      {
        ID: 'disks',
        Provider: 'disks.example',
        ControllerRequired: true,
        ControllersHealthy: 1,
        ControllersExpected: 0,
        NodesHealthy: 1,
        NodesExpected: 0,
        CreateIndex: expect.any(Number),
        ModifyIndex: expect.any(Number),
      },
    ]);
    expect(await json('/v1/plugins?type=csi&prefix=x')).toEqual([]);
  });

  it('VL-306: host volumes by node, pool, and the start of name or ID', async () => {
    const stub = { ID: HOST_VOLUME, Name: 'data', State: 'ready', NodePool: 'default' };
    for (const query of [
      '',
      '&prefix=da',
      `&prefix=${HOST_VOLUME.slice(0, 34)}`,
      `&node_id=${NODE}`,
      '&node_pool=default',
    ])
      expect(await json(`/v1/volumes?type=host${query}`), query).toMatchObject([stub]);
    for (const query of ['&prefix=ata', `&node_id=${OTHER_NODE}`, '&node_pool=gpu', '&namespace=team'])
      expect(await json(`/v1/volumes?type=host${query}`), query).toEqual([]);
    const volume = await json(`/v1/volume/host/${HOST_VOLUME}`);
    expect(volume).toMatchObject({ ...stub, HostPath: '/volumes/data', Allocations: [{ JobID: 'db' }, {}] });
    const missing = await cluster.get(`/v1/volume/host/${uuid(9)}`);
    expect([missing.status, missing.text]).toEqual([404, 'volume not found']);
  });

  it('VL-274: search finds all three', async () => {
    const found = async (Prefix: string, Context: string) =>
      JSON.parse((await cluster.put('/v1/search', { Prefix, Context })).text) as { Matches: object };
    expect((await found('vol-0', 'volumes')).Matches).toEqual({ volumes: ['vol-01', 'vol-02', 'vol-04', 'vol-05'] });
    expect((await found('dis', 'plugins')).Matches).toEqual({ plugins: ['disks'] });
    expect((await found('dat', 'host_volumes')).Matches).toEqual({ host_volumes: [HOST_VOLUME] });
  });
});
