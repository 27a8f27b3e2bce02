import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type NatsLink } from '@waybill/journal';
import {
  type Allocation,
  CLAIM_MODE,
  CLAIM_STATE,
  type Node,
  NS_PER_SECOND,
  Refusal,
  type Task,
  type VolumeMount,
  type VolumeRequest,
} from '@waybill/model';
import { type Authority, collectAllocs, CSI_CONTROLLER, CSI_NODE, EVERYBODY_CALLS } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { callsIn } from '../support/csi-plugin/directory-plugin.mjs';
import { canMount, unmountBelow } from '../support/csi-plugin/disks.mjs';
import { Faults } from '../support/csi-plugin/faults.mjs';
import { HELD_BY, HELD_EPOCH } from '../support/admitted-rpc.js';
import { HeldClaims } from '../support/held-claims.js';
import { processesOf } from '../support/launcher.js';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

const PLUGIN_MAIN = fileURLToPath(new URL('../support/csi-plugin/main.mjs', import.meta.url));
const CAPABILITY = { AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
const UNAVAILABLE = 14;
const INTERNAL = 13;

let cluster: NodesAndAgent;
let link: NatsLink;
let claims: HeldClaims;
let agent: ChildProcess;
let node: Node;
let plugin: Allocation;
let pluginRoot: string;
let faults: Faults;
let hostVolume: string;
const env = (): NodeJS.ProcessEnv => ({ WAYBILL_HOST_VOLUMES: `shared=${hostVolume},certs=${hostVolume}:ro` });

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
  link = await connect({ url: cluster.natsUrl, name: 'claims' });
  claims = new HeldClaims(link);
  hostVolume = path.join(cluster.dir, 'shared');
  mkdirSync(hostVolume);
  agent = await cluster.startAgent('one', env());
  node = await cluster.node('one');
  pluginRoot = path.join(cluster.dir, 'provider');
  mkdirSync(pluginRoot);
  faults = new Faults(pluginRoot);
  plugin = await cluster.place(node.ID, [pluginTask()], { type: 'system' });
});
afterAll(async () => {
  await claims.close();
  await link.nc.close();
  unmountBelow(cluster.dir);
  await cluster.stop();
});

/** The plugin of the tests, as an operator would run it: both sides in one task. */
function pluginTask(): Task {
  return fixtures.aTask({
    Name: 'plugin',
    Driver: 'raw_exec',
    Config: { command: process.execPath, args: [PLUGIN_MAIN, pluginRoot, node.ID] },
    CSIPluginConfig: {
      ID: 'disks',
      Type: 'monolith',
      MountDir: '/csi',
      StagePublishBaseDir: '/local/csi',
      HealthTimeout: 30 * NS_PER_SECOND,
    },
    KillTimeout: NS_PER_SECOND,
    RestartPolicy: { Attempts: 10, Interval: 3_600 * NS_PER_SECOND, Delay: 0, Mode: 'fail', RenderTemplates: false },
  });
}

const mount = (over: Partial<VolumeMount> = {}): VolumeMount => ({
  Volume: 'data',
  Destination: '/srv',
  ReadOnly: false,
  PropagationMode: 'private',
  SELinuxLabel: '',
  ...over,
});

/** An allocation whose one task finds the volume at `srv` in its directory. */
function user(line: string, volume: string, over: Partial<VolumeRequest> = {}): Promise<Allocation> {
  return cluster.place(node.ID, [shellTask(line, { VolumeMounts: [mount()] })], {
    type: 'batch',
    group: { Volumes: { data: fixtures.aVolumeRequest({ Source: volume, ...over }) } },
  });
}

/** A disk made through the plugin, and the volume that names it. */
async function aVolume(id: string): Promise<string> {
  const made = await cluster.rpc.ask(
    CSI_CONTROLLER.create.call,
    {
      PluginID: 'disks',
      Name: id,
      VolumeCapabilities: [CAPABILITY],
      MountOptions: null,
      Parameters: null,
      Secrets: null,
      CapacityMin: 1_024,
      CapacityMax: 0,
      SnapshotID: '',
      CloneID: '',
      RequestedTopologies: null,
    },
    { target: node.ID },
  );
  const volume = fixtures.aCSIVolume({
    ID: id,
    PluginID: 'disks',
    ExternalID: made.ExternalVolumeID,
    Context: { ...made.VolumeContext },
    Secrets: { password: 'hunter2' },
  });
  claims.volumes.set(id, volume);
  return made.ExternalVolumeID;
}

const calls = (volume: string) =>
  callsIn(path.join(pluginRoot, `calls-${node.ID}.jsonl`)).filter((c) => c.volume === volume);
const methods = (volume: string) => calls(volume).map(({ method }) => method);
/** The claim is given back before the machine is told to let the disk go. */
const detached = (disk: string) =>
  eventually(`${disk} is detached`, () => methods(disk).at(-1) === 'ControllerUnpublishVolume');
const onDisk = (disk: string, file: string) => readFileSync(path.join(pluginRoot, 'disks', disk, file), 'utf8');
const isUp = () =>
  eventually('the plugin is fingerprinted as healthy', () => {
    const known = cluster.state.tables.nodes.get(node.ID);
    return known?.CSINodePlugins['disks']?.Healthy && known.CSIControllerPlugins['disks']?.Healthy && known;
  });
/** Of the plugin itself, without the shell that watches it. */
const pluginPids = () =>
  processesOf(pluginRoot)
    .filter(({ commandLine }) => commandLine.startsWith(`${process.execPath} ${PLUGIN_MAIN}`))
    .map(({ pid }) => pid);
/** Mounts of this file's agent whose path has this part: a run that was killed may have left others on the machine. */
const mountsBelow = (part: string) =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(cluster.agentDir('one')) && line.includes(part));
const needsMounts = (ctx: TestContext): void => ctx.skip(!canMount, 'mounting needs root');
const ended = (alloc: Allocation) => cluster.inStatus(alloc.ID, 'complete');
const releasedOf = (alloc: Allocation, times = 1) =>
  eventually(`${alloc.ID} has given back its volume`, () => {
    const given = claims.unpublishedOf(alloc.ID);
    return given.length >= times && given;
  });

describe('a storage plugin on a machine', () => {
  it('VL-205, VL-208, VL-213, VL-217: runs as a task and is fingerprinted into its node', async () => {
    const known = await isUp();
    expect(known.CSINodePlugins['disks']).toMatchObject({
      PluginID: 'disks',
      AllocID: plugin.ID,
      HealthDescription: 'healthy',
      Provider: 'directory.csi.waybill',
      ProviderVersion: '1.0.0',
      RequiresControllerPlugin: true,
      NodeInfo: {
        ID: node.ID,
        MaxVolumes: Number.MAX_SAFE_INTEGER,
        RequiresNodeStageVolume: true,
        SupportsExpand: true,
      },
    });
    expect(known.CSIControllerPlugins['disks']?.ControllerInfo).toMatchObject({
      SupportsCreateDelete: true,
      SupportsAttachDetach: true,
      SupportsGetCapacity: false,
    });
    const healthy = await eventually('the task says so', () =>
      cluster.alloc(plugin.ID).TaskStates['plugin']?.Events.find(({ Type }) => Type === 'Plugin became healthy'),
    );
    expect(healthy.Details).toMatchObject({ message: 'plugin: disks' });
  });

  it('VL-133, VL-252: does for the servers what they ask, and says what it cannot', async () => {
    await isUp();
    const to = { target: node.ID };
    const disk = await aVolume('asked');
    const listed = await cluster.rpc.ask(
      CSI_CONTROLLER.list.call,
      { PluginID: 'disks', MaxEntries: 0, StartingToken: '' },
      to,
    );
    expect(listed.Entries).toMatchObject([{ ExternalID: disk, CapacityBytes: 1_024, PublishedExternalNodeIDs: [] }]);
    const one = { PluginID: 'disks', VolumeID: disk, Secrets: null };
    const check = { ...one, VolumeCapabilities: [CAPABILITY], Parameters: null, VolumeContext: null };
    expect(await cluster.rpc.ask(CSI_CONTROLLER.validate.call, check, to)).toBeNull();
    await expect(cluster.rpc.ask(CSI_CONTROLLER.validate.call, { ...check, VolumeID: 'none' }, to)).rejects.toThrow(
      'CSI.ControllerValidateVolume: volume "none" could not be found: rpc error: code = NotFound',
    );
    const elsewhere = { ...one, ...CAPABILITY, MountOptions: null, ReadOnly: false, VolumeContext: null };
    await cluster.rpc.ask(CSI_CONTROLLER.attach.call, { ...elsewhere, ClientCSINodeID: 'far-away' }, to);
    await expect(
      cluster.rpc.ask(CSI_CONTROLLER.attach.call, { ...elsewhere, ClientCSINodeID: 'here' }, to),
    ).rejects.toThrow('CSI.ControllerAttachVolume: CSI client error (retryable): rpc error: code = FailedPrecondition');
    await expect(
      cluster.rpc.ask(CSI_CONTROLLER.delete.call, { PluginID: 'disks', ExternalVolumeID: disk, Secrets: null }, to),
    ).rejects.toThrow(`volume "${disk}" is in use: `);
    await expect(
      cluster.rpc.ask(CSI_CONTROLLER.delete.call, { PluginID: 'nobody', ExternalVolumeID: disk, Secrets: null }, to),
    ).rejects.toThrow('CSI.ControllerDeleteVolume: CSI client error (retryable): ');
    const bigger = { PluginID: 'disks', ExternalVolumeID: disk, CapacityMin: 9_999, CapacityMax: 0, Secrets: null };
    expect(
      await cluster.rpc.ask(CSI_CONTROLLER.expand.call, { ...bigger, VolumeCapability: null, MountOptions: null }, to),
    ).toEqual({ CapacityBytes: 9_999, NodeExpansionRequired: true });
    const cut = await cluster.rpc.ask(
      CSI_CONTROLLER.createSnapshot.call,
      { ...one, Name: 'cut', Parameters: null },
      to,
    );
    const pages = { PluginID: 'disks', MaxEntries: 0, StartingToken: '', Secrets: null };
    expect((await cluster.rpc.ask(CSI_CONTROLLER.listSnapshots.call, pages, to)).Entries).toEqual([cut]);
    expect(cut).toMatchObject({ ExternalSourceVolumeID: disk, IsReady: true, CreateTime: 1 });
  });
});

describe('an allocation with a volume', () => {
  it('CW-18, VL-223, VL-224, VL-225, VL-228: finds its data, and leaves it to the next', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('db');
    const writer = await user('echo first > srv/data; sleep 600', 'db');
    await cluster.inStatus(writer.ID, 'running');
    await eventually('the data is on the disk', () => onDisk(disk, 'data') === 'first\n');
    expect(claims.claimsOf(writer.ID)).toMatchObject([
      { VolumeID: 'db', NodeID: node.ID, Claim: CLAIM_MODE.write, State: CLAIM_STATE.taken, ...CAPABILITY },
    ]);
    await cluster.stopAlloc(writer);
    await ended(writer);
    const [given] = await releasedOf(writer);
    expect(given).toMatchObject({ State: CLAIM_STATE.nodeDetached, ExternalNodeID: node.ID });
    await detached(disk);
    const reader = await user('cat srv/data', 'db', { ReadOnly: true });
    await ended(reader);
    await releasedOf(reader);
    expect(claims.claimsOf(reader.ID)).toMatchObject([{ Claim: CLAIM_MODE.read }]);
    const log = path.join(cluster.agentDir('one'), 'allocs', reader.ID, 'alloc/logs/web.stdout.0');
    expect(readFileSync(log, 'utf8')).toBe('first\n');
    const once = [
      'ControllerPublishVolume',
      'NodeStageVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
      'NodeUnstageVolume',
    ];
    await detached(disk);
    expect(methods(disk)).toEqual([...once, 'ControllerUnpublishVolume', ...once, 'ControllerUnpublishVolume']);
    expect(mountsBelow('/')).toEqual([]);
    expect(existsSync(path.join(cluster.agentDir('one'), 'csi/monolith/disks/per-alloc'))).toBe(false);
  });

  it('VL-227: waits for a claim that is taken', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    await aVolume('busy');
    claims.refusals.push(new Refusal('full', 'alloc "x" failed to claim volume "busy": volume max claims reached'));
    const alloc = await user('true', 'busy');
    await ended(alloc);
    expect(claims.claimsOf(alloc.ID)).toHaveLength(2);
  });

  it('VL-221, VL-226, AG-81: one whose claim is refused fails before it starts, and gives back what it may have', async () => {
    await isUp();
    await aVolume('refused');
    claims.refusals.push(new Refusal('conflict', 'volume is currently unschedulable'));
    const alloc = await user('echo never', 'refused');
    const { TaskStates } = await cluster.inStatus(alloc.ID, 'failed');
    const problem =
      'failed to setup alloc: claiming volumes: could not claim volume refused: volume is currently unschedulable';
    expect(TaskStates['web']?.Events.map(({ Type }) => Type)).not.toContain('Started');
    expect(TaskStates['web']?.Events.find(({ Type }) => Type === 'Setup Failure')?.Details).toMatchObject({
      setup_error: problem,
    });
    expect(await releasedOf(alloc)).toMatchObject([{ State: CLAIM_STATE.nodeDetached }]);
  });

  it('VL-250: a plugin that is away for a moment is not noticed', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('hiccup');
    faults.set({ NodeStageVolume: { code: UNAVAILABLE, times: 2 }, NodePublishVolume: { twice: true } });
    const alloc = await user('echo here > srv/data', 'hiccup');
    await ended(alloc);
    await releasedOf(alloc);
    faults.set({});
    expect(onDisk(disk, 'data')).toBe('here\n');
    expect(methods(disk).filter((method) => method === 'NodeStageVolume')).toHaveLength(3);
  });

  it('VL-231, AG-295: a plugin that never answers holds up neither the end of an allocation nor the next one', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('silent');
    faults.set({ NodeStageVolume: { never: true } });
    const alloc = await user('true', 'silent');
    await eventually('the plugin is asked', () => methods(disk).includes('NodeStageVolume'));
    await cluster.stopAlloc(alloc);
    await ended(alloc);
    await releasedOf(alloc);
    faults.set({});
    const next = await user('echo here > srv/data', 'silent');
    await ended(next);
    await releasedOf(next);
    expect(onDisk(disk, 'data')).toBe('here\n');
    expect(mountsBelow('/silent/')).toEqual([]);
  });

  it('VL-248, VL-209: a plugin that is killed comes back by its restart policy and is found again', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('crash');
    const before = cluster.alloc(plugin.ID).TaskStates['plugin']?.Restarts ?? 0;
    faults.set({ NodePublishVolume: { crash: true } });
    const alloc = await user('echo here > srv/data', 'crash');
    await eventually('it is restarted', () => (cluster.alloc(plugin.ID).TaskStates['plugin']?.Restarts ?? 0) > before);
    faults.set({});
    // Whether its tries last until the plugin is back is a matter of milliseconds.
    await eventually('it has ended', () => /complete|failed/.test(cluster.alloc(alloc.ID).ClientStatus));
    await releasedOf(alloc);
    const list = { PluginID: 'disks', MaxEntries: 0, StartingToken: '' };
    await eventually('it answers again', () => cluster.rpc.ask(CSI_CONTROLLER.list.call, list, { target: node.ID }));
    const health = () =>
      (cluster.alloc(plugin.ID).TaskStates['plugin']?.Events ?? [])
        .filter(({ Type }) => Type.startsWith('Plugin became'))
        .map(({ Type }) => Type);
    await eventually('its task says that it was unwell and is well', () =>
      health().join(' ').endsWith('Plugin became unhealthy Plugin became healthy'),
    );
    await isUp();
    const next = await user('echo here > srv/data', 'crash');
    await ended(next);
    expect(onDisk(disk, 'data')).toBe('here\n');
    await releasedOf(next);
    await eventually('nothing is left mounted', () => mountsBelow('/crash/').length === 0);
  });

  it('VL-232, VL-245: an unmount that fails is given back as not done, tried on, and given back again', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('stuck');
    const alloc = await user('sleep 600', 'stuck');
    await cluster.inStatus(alloc.ID, 'running');
    faults.set({ NodeUnpublishVolume: { code: INTERNAL, times: 1 } });
    await cluster.stopAlloc(alloc);
    const given = await releasedOf(alloc, 2);
    faults.set({});
    expect(given.map(({ State }) => State)).toEqual([CLAIM_STATE.unpublishing, CLAIM_STATE.nodeDetached]);
    expect(methods(disk).filter((method) => method === 'NodeUnpublishVolume')).toHaveLength(2);
    expect(mountsBelow('/stuck/')).toEqual([]);
    const events = await eventually('the servers have heard of both', () => {
      const all = cluster.state.tables.nodes.get(node.ID)?.Events ?? [];
      const of = all.filter(
        ({ Message, Details }) => Message === 'Unmount volume' && Details?.['volume_id'] === 'stuck',
      );
      return of.length === 2 && of;
    });
    expect(events.map(({ Subsystem, Details }) => [Subsystem, Details?.['success']])).toEqual([
      ['Storage', 'false'],
      ['Storage', 'true'],
    ]);
  });

  it('AU-256, AU-334: a machine refuses a deposed holder, over a restart of its agent as well', async () => {
    await isUp();
    const list = { PluginID: 'disks', MaxEntries: 0, StartingToken: '' };
    const listed = (authority: Authority) =>
      cluster.rpc.ask(CSI_CONTROLLER.list.call, list, { target: node.ID, authority }).then(
        () => 'listed',
        (error: Error) => error.message,
      );
    const byHolder = (Epoch: number) =>
      listed({ fence: { Role: 'volumes', Epoch, Holder: Epoch === HELD_EPOCH ? HELD_BY : 'frozen' } });
    expect(await byHolder(HELD_EPOCH)).toBe('listed');
    expect(await byHolder(HELD_EPOCH - 1)).toMatch(/^stale epoch: frozen calls as holder of volumes/);
    await cluster.endAgent(agent, 'SIGKILL');
    agent = await cluster.startAgent('one', env());
    await isUp();
    expect(await byHolder(HELD_EPOCH - 1)).toMatch(/^stale epoch/);
    expect(await byHolder(HELD_EPOCH)).toBe('listed');
    expect(await listed({ user: EVERYBODY_CALLS })).toBe('Permission denied');
    expect(await listed({ fence: { Role: 'nodes', Epoch: HELD_EPOCH, Holder: 'nodes' } })).toBe('Permission denied');
  });

  it('VL-241, VL-242, VL-222: agents come and go, mounts stay, and nobody unstages under a neighbour', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('shared-disk');
    const line = 'while [ ! -e srv/stop ]; do sleep 0.1; done';
    const [first, second] = [await user(line, 'shared-disk'), await user('sleep 600', 'shared-disk')];
    await cluster.inStatus(first.ID, 'running');
    await cluster.inStatus(second.ID, 'running');
    await cluster.endAgent(agent, 'SIGKILL');
    agent = await cluster.startAgent('one', env());
    await isUp();
    writeFileSync(path.join(pluginRoot, 'disks', disk, 'stop'), '');
    await ended(first);
    await releasedOf(first);
    expect(methods(disk).filter((method) => /Stage|Unstage/.test(method))).toEqual(['NodeStageVolume']);
    await cluster.stopAlloc(second);
    await releasedOf(second);
    await detached(disk);
    expect(methods(disk).at(-2)).toBe('NodeUnstageVolume');
    for (const alloc of [first, second]) expect(claims.claimsOf(alloc.ID)).toHaveLength(1);
    expect(methods(disk).filter((method) => method === 'NodePublishVolume')).toHaveLength(2);
    expect(mountsBelow('/shared-disk/')).toEqual([]);
  });

  it('VL-241, VL-209: an agent dies while its plugin lives on: what ended meanwhile lets its disk go, and the plugin never was away', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const before = pluginPids();
    expect(before).toHaveLength(1);
    const disk = await aVolume('orphan');
    const alloc = await user('while [ ! -e srv/stop ]; do sleep 0.1; done; echo over > srv/end', 'orphan');
    await cluster.inStatus(alloc.ID, 'running');
    const sinceNs = Date.now() * 1e6;
    await cluster.endAgent(agent, 'SIGKILL');
    writeFileSync(path.join(pluginRoot, 'disks', disk, 'stop'), '');
    await eventually('the task has ended, and nobody was there to see it', () =>
      existsSync(path.join(pluginRoot, 'disks', disk, 'end')),
    );
    expect(mountsBelow('/orphan/')).not.toEqual([]);
    agent = await cluster.startAgent('one', env());
    await ended(alloc);
    await releasedOf(alloc);
    await detached(disk);
    expect(mountsBelow('/orphan/')).toEqual([]);
    await isUp();
    expect(pluginPids()).toEqual(before);
    const told = (cluster.alloc(plugin.ID).TaskStates['plugin']?.Events ?? []).filter(({ Time }) => Time > sinceNs);
    expect(told.map(({ Type }) => Type)).not.toContain('Plugin became unhealthy');
  });

  it('VL-241, VL-248: a plugin that dies while its agent is dead is started again by the next one, and unmounts what it left', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('both');
    const alloc = await user('sleep 600', 'both');
    await cluster.inStatus(alloc.ID, 'running');
    await cluster.endAgent(agent, 'SIGKILL');
    const [killed = 0] = pluginPids();
    process.kill(killed, 'SIGKILL');
    agent = await cluster.startAgent('one', env());
    await eventually('another one runs', () => pluginPids().some((pid) => pid !== killed));
    await isUp();
    expect(cluster.alloc(alloc.ID).ClientStatus).toBe('running');
    await cluster.stopAlloc(alloc);
    await releasedOf(alloc);
    await detached(disk);
    expect(mountsBelow('/both/')).toEqual([]);
  });

  it('VL-232, VL-311: a mount whose allocation was collected is taken back by the next agent, and shared with nobody', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('dropped');
    const alloc = await user('echo here > srv/data', 'dropped');
    faults.set({ NodeUnpublishVolume: { code: INTERNAL } });
    await ended(alloc);
    await releasedOf(alloc);
    const target = { target: node.ID };
    // It may be collected once all that follows its end was tried.
    await eventually('it is collected', async () => {
      await cluster.rpc.ask(collectAllocs, { AllocID: alloc.ID }, target);
      return true;
    });
    expect(existsSync(path.join(cluster.agentDir('one'), 'allocs', alloc.ID))).toBe(false);
    expect(mountsBelow('/dropped/')).not.toEqual([]);
    const refused = await user('echo never', 'dropped');
    const { TaskStates } = await cluster.inStatus(refused.ID, 'failed');
    const failure = TaskStates['web']?.Events.find(({ Type }) => Type === 'Setup Failure');
    expect(failure?.Details?.['setup_error']).toContain(`is still mounted here for allocation "${alloc.ID}"`);
    await cluster.endAgent(agent, 'SIGKILL');
    agent = await cluster.startAgent('one', env());
    await isUp();
    expect(mountsBelow('/dropped/')).not.toEqual([]);
    faults.set({});
    await eventually('nothing is left mounted', () => mountsBelow('/dropped/').length === 0);
    await releasedOf(alloc, 2);
    const next = await user('cat srv/data', 'dropped');
    await ended(next);
    await releasedOf(next);
    expect(onDisk(disk, 'data')).toBe('here\n');
  });

  it('VL-246, VL-247: the servers may have it grown and detached', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    const disk = await aVolume('far');
    const alloc = await user('sleep 600', 'far');
    await cluster.inStatus(alloc.ID, 'running');
    const Claim = fixtures.aCSIClaim({
      AllocationID: alloc.ID,
      NodeID: node.ID,
      Mode: CLAIM_MODE.write,
      ...CAPABILITY,
    });
    const of = { PluginID: 'disks', VolumeID: 'far', Namespace: alloc.Namespace, ExternalID: disk, Claim };
    const to = { target: node.ID };
    const grow = { ...of, MountOptions: null, CapacityMin: 4_096, CapacityMax: 0, Secrets: null };
    expect(await cluster.rpc.ask(CSI_NODE.expand.call, grow, to)).toEqual({ CapacityBytes: 4_096 });
    const nobody = { ...of, Claim: { ...Claim, AllocationID: '' } };
    await expect(cluster.rpc.ask(CSI_NODE.detach.call, nobody, to)).rejects.toThrow(
      'CSI.NodeDetachVolume: AllocID is required',
    );
    await expect(cluster.rpc.ask(CSI_NODE.detach.call, of, to)).rejects.toThrow(
      `CSI.NodeDetachVolume: allocation "${alloc.ID}" has not ended on this client`,
    );
    expect(mountsBelow('/far/')).not.toEqual([]);
    faults.set({ NodeUnpublishVolume: { code: INTERNAL } });
    await cluster.stopAlloc(alloc);
    await releasedOf(alloc);
    expect(mountsBelow('/far/')).not.toEqual([]);
    faults.set({});
    await cluster.rpc.ask(CSI_NODE.detach.call, of, to);
    expect(mountsBelow('/far/')).toEqual([]);
    await cluster.rpc.ask(CSI_NODE.detach.call, of, to); // again: done is done
    await releasedOf(alloc, 2);
  });

  it('VL-310: a mount that its plugin forgets is not taken for unmounted, and goes when the plugin is asked again', async (ctx) => {
    needsMounts(ctx);
    await isUp();
    await aVolume('forgotten');
    faults.set({ NodeUnpublishVolume: { forget: true } });
    const alloc = await user('true', 'forgotten');
    await ended(alloc);
    const [first] = await releasedOf(alloc);
    expect(first?.State).toBe(CLAIM_STATE.unpublishing);
    expect(mountsBelow('/forgotten/')).not.toEqual([]);
    faults.set({});
    await releasedOf(alloc, 2);
    expect(mountsBelow('/forgotten/')).toEqual([]);
  });
});

describe('a host volume', () => {
  it('VL-279, VL-281: is in the node, and a task finds it', async () => {
    const known = cluster.state.tables.nodes.get(node.ID);
    expect(known?.HostVolumes).toEqual({
      shared: { Name: 'shared', Path: hostVolume, ReadOnly: false, ID: '' },
      certs: { Name: 'certs', Path: hostVolume, ReadOnly: true, ID: '' },
    });
    const host = { Type: 'host', AccessMode: '', AttachmentMode: '' };
    const alloc = await user('echo here > srv/file', 'shared', host);
    await ended(alloc);
    expect(readFileSync(path.join(hostVolume, 'file'), 'utf8')).toBe('here\n');
    const missing = await user('true', 'elsewhere', host);
    const { TaskStates } = await cluster.inStatus(missing.ID, 'failed');
    const why = TaskStates['web']?.Events.find(({ Type }) => Type === 'Task hook failed')?.Details['message'];
    expect(why).toContain('volumes: host volume validation error: ');
    expect(why).toContain('missing elsewhere');
  });
});

describe('a plugin that goes', () => {
  it('VL-210, VL-218: is withdrawn with its socket; its node says so and keeps what it was', async () => {
    await isUp();
    await cluster.stopAlloc(plugin);
    await ended(plugin);
    const known = await eventually('it is reported unhealthy', () => {
      const of = cluster.state.tables.nodes.get(node.ID);
      return of?.CSINodePlugins['disks']?.Healthy === false && !of.CSIControllerPlugins['disks']?.Healthy && of;
    });
    expect(known.CSINodePlugins['disks']).toMatchObject({ HealthDescription: 'unhealthy', NodeInfo: { ID: node.ID } });
    await eventually('the directory of its socket is gone', () => {
      return readdirSync(path.join(cluster.agentDir('one'), 'csi/plugins')).length === 0;
    });
  });
});
