import { CLAIM_MODE, CLAIM_STATE, type CSIVolumeClaim, type Node } from '@waybill/model';
import { archiveLines, fixtures, readArchive } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { VolumesCluster } from './volumes-cluster.fixture.js';

const MULTI = 'multi-node-multi-writer';

/** Volume `data` that needs a controller, which runs on machine `c`; `own` on machine `m` holds a claim. */
function published({ beside = 'elsewhere', controller = true, externalId = 'external-m' } = {}): VolumesCluster {
  const cluster = new VolumesCluster();
  for (const id of ['m', 'elsewhere']) cluster.machine(id);
  if (controller) cluster.machine('c', { controller: true });
  const capability = { AttachmentMode: 'file-system', AccessMode: MULTI };
  cluster.volume({ ControllerRequired: true, RequestedCapabilities: [capability], Secrets: { key: 'secret' } });
  cluster.claimed('own', 'm', { read: true, accessMode: MULTI, externalId });
  cluster.claimed('other', beside, { read: true, accessMode: MULTI, externalId: `external-${beside}` });
  cluster.status('own', 'failed');
  cluster.lead();
  return cluster;
}

const claim = (over: Partial<CSIVolumeClaim> = {}): CSIVolumeClaim =>
  fixtures.aCSIClaim({
    AllocationID: 'own',
    NodeID: 'm',
    ExternalNodeID: '',
    Mode: CLAIM_MODE.read,
    AccessMode: MULTI,
    ...over,
  });

const run = (cluster: VolumesCluster, over: Partial<CSIVolumeClaim> = {}, volumeId = 'data'): Promise<number> =>
  cluster.term.unpublish.releaseClaim({ namespace: 'default', volumeId, claim: claim(over) });

describe('a claim is given back', () => {
  it('VL-106, VL-118, VL-121, VL-122: from the machine, then from the provider with its secrets, then from the state', async () => {
    const cluster = published();
    const index = await run(cluster);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume', 'ControllerDetachVolume']);
    expect(cluster.machines.asked[1]).toMatchObject({
      nodeId: 'c',
      request: { VolumeID: 'disk-1', ClientCSINodeID: 'external-m', Secrets: { key: 'secret' } },
    });
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
    expect(index).toBe(cluster.state.appliedIndex);
  });

  it.each([
    { state: CLAIM_STATE.readyToFree, calls: [] },
    { state: CLAIM_STATE.controllerDetached, calls: [] },
    { state: CLAIM_STATE.nodeDetached, calls: ['ControllerDetachVolume'] },
    { state: CLAIM_STATE.unpublishing, calls: ['NodeDetachVolume', 'ControllerDetachVolume'] },
    { state: CLAIM_STATE.taken, calls: ['NodeDetachVolume', 'ControllerDetachVolume'] },
  ])('VL-106: goes on where it was: state $state calls $calls', async ({ state, calls }) => {
    const cluster = published();
    await run(cluster, { State: state });
    expect(cluster.machines.calls).toEqual(calls);
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
  });

  it('VL-105: a late duplicate never takes the claim again', async () => {
    const cluster = published();
    await run(cluster);
    await run(cluster, { State: CLAIM_STATE.taken });
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
    expect(cluster.stored().PastClaims).toEqual({});
  });

  it('VL-105: written down before the first call', async () => {
    const cluster = published();
    let seen: unknown;
    cluster.machines.answers.set('agent.csiNodeDetachVolume', () => void (seen = cluster.stored().PastClaims['own']));
    await run(cluster);
    expect(seen).toMatchObject({ State: CLAIM_STATE.unpublishing, AccessMode: MULTI });
  });

  it('VL-110: whose agent has unmounted it says so by a blank mode, and is not asked', async () => {
    const cluster = published();
    await run(cluster, { AccessMode: '' });
    expect(cluster.machines.calls).toEqual(['ControllerDetachVolume']);
  });

  it.each([
    ['disconnected', 1],
    ['initializing', 1],
    ['ready', 1],
    ['down', 0],
  ] as const)('VL-107, VL-108: of a machine that is %s: asked %d times', async (status, times) => {
    const cluster = published();
    cluster.write('NodeUpdateStatus', {
      NodeID: 'm',
      Status: status,
      UpdatedAt: 0,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
    await run(cluster);
    expect(cluster.machines.calls.filter((name) => name === 'NodeDetachVolume')).toHaveLength(times);
  });

  it('VL-108: a machine that cannot be reached keeps the claim', async () => {
    const cluster = published();
    cluster.machines.unreachable('agent.csiNodeDetachVolume');
    await expect(run(cluster)).rejects.toThrow(
      'could not detach from node: CSI.NodeDetachVolume error: No path to node',
    );
    expect(cluster.stored().PastClaims['own']).toMatchObject({ State: CLAIM_STATE.unpublishing });
    expect(Object.keys(cluster.stored().ReadClaims)).toHaveLength(2);
  });

  it.each([
    { step: 'NodeDetachVolume', calls: ['NodeDetachVolume'] },
    { step: 'ControllerDetachVolume', calls: ['NodeDetachVolume', 'ControllerDetachVolume'] },
  ])(
    'VL-308, OP-46: a restore during $step brings the claim back: it stays, and the ended term releases nothing',
    async (it) => {
      const cluster = published();
      cluster.status('own', 'running');
      const Tables = readArchive(archiveLines(cluster.state.tables));
      cluster.machines.answers.set(`agent.csi${it.step}`, () => {
        cluster.write('StateRestore', { Archive: 'a', SHA256: '', Bytes: 0, Index: 1, Tables });
      });
      await expect(run(cluster, { State: CLAIM_STATE.unpublishing })).rejects.toThrow('stale epoch');
      expect(cluster.machines.calls).toEqual(it.calls);
      expect(cluster.stored()).toMatchObject({ ReadClaims: { own: {}, other: {} }, PastClaims: {} });
    },
  );

  it('VL-109: a machine that knows nothing of it has let go', async () => {
    const cluster = published();
    cluster.machines.refusing('agent.csiNodeDetachVolume', 'CSI.NodeDetachVolume: Unknown node m', 'not-found');
    await run(cluster);
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
  });

  it('API-223, VL-111, VL-157: without an allocation every past claim of the machine, and the sign for the watcher at the end', async () => {
    const cluster = published();
    cluster.claimed('second', 'm', { read: true, accessMode: MULTI });
    cluster.status('second', 'complete');
    const before = cluster.claimWrites;
    await run(cluster, { AllocationID: '', Mode: CLAIM_MODE.gc, AccessMode: '', AttachmentMode: '' });
    const detached = cluster.machines.asked.filter(({ name }) => name === 'agent.csiNodeDetachVolume');
    expect(detached.map(({ request }) => (request['Claim'] as CSIVolumeClaim).AllocationID).toSorted()).toEqual([
      'own',
      'second',
    ]);
    expect(Object.keys(cluster.stored().ReadClaims)).toHaveLength(3); // freed by the watcher, not here
    expect(cluster.claimWrites).toBe(before + 1);
  });

  it('API-627: without an allocation, what has ended on other machines is left alone', async () => {
    const cluster = published();
    cluster.status('other', 'complete');
    await run(cluster, { AllocationID: '', Mode: CLAIM_MODE.gc, AccessMode: '', AttachmentMode: '' });
    const detached = cluster.machines.asked.filter(({ name }) => name === 'agent.csiNodeDetachVolume');
    expect(detached.map(({ nodeId, request }) => [nodeId, (request['Claim'] as CSIVolumeClaim).AllocationID])).toEqual([
      ['m', 'own'],
    ]);
  });

  it('VL-111: all are tried, and any error stops', async () => {
    const cluster = published();
    cluster.claimed('second', 'm', { read: true, accessMode: MULTI });
    cluster.status('second', 'complete');
    cluster.machines.answers.set('agent.csiNodeDetachVolume', ({ request }) => {
      throw new Error(`${(request['Claim'] as CSIVolumeClaim).AllocationID} is busy`);
    });
    await expect(run(cluster, { AllocationID: '', Mode: CLAIM_MODE.gc })).rejects.toThrow(
      'could not detach from node: CSI.NodeDetachVolume error: own is busy, CSI.NodeDetachVolume error: second is busy',
    );
    expect(cluster.machines.calls).toHaveLength(2);
  });

  it('VL-114: while no plugin is known that could detach it, the claim waits', async () => {
    const cluster = published();
    for (const id of ['m', 'elsewhere', 'c'])
      cluster.machine(id, { over: { CSINodePlugins: {}, CSIControllerPlugins: {} } });
    expect(cluster.state.tables.csi_plugins.size).toBe(0);
    await expect(run(cluster)).rejects.toThrow('no such plugin: "disks"');
    expect(cluster.stored().PastClaims['own']).toMatchObject({ State: CLAIM_STATE.nodeDetached });
    expect(Object.keys(cluster.stored().ReadClaims)).toHaveLength(2);
  });

  /** The only machine of a plugin is down: its record is gone, and so are its instances. */
  function withoutPlugin(SupportsAttachDetach: boolean): VolumesCluster {
    const cluster = published({ controller: false });
    const info = fixtures.aControllerPlugin();
    const controller = { ...info, ControllerInfo: { ...info.ControllerInfo!, SupportsAttachDetach } };
    cluster.machine('m', { over: { CSIControllerPlugins: { disks: { ...controller, AllocID: 'plugin' } } } });
    for (const id of ['m', 'elsewhere']) {
      const { CSIControllerPlugins: last } = cluster.state.tables.nodes.get(id)!;
      const CSIControllerPlugins: Node['CSIControllerPlugins'] = {};
      if (last['disks']) CSIControllerPlugins['disks'] = { ...last['disks'], Healthy: false };
      cluster.machine(id, {
        over: { CSINodePlugins: {}, CSIControllerPlugins, Status: id === 'm' ? 'down' : 'ready' },
      });
    }
    expect(cluster.state.tables.csi_plugins.size).toBe(0);
    return cluster;
  }

  it('VL-114: a plugin that is gone is not needed if its machines last said that it neither attaches nor detaches', async () => {
    const cluster = withoutPlugin(false);
    await run(cluster, { AllocationID: '', Mode: CLAIM_MODE.gc }); // as an operator’s detach
    await run(cluster);
    expect(cluster.machines.calls).toEqual([]);
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
  });

  it('VL-114: one that attaches is needed, also for an operator’s detach', async () => {
    const cluster = withoutPlugin(true);
    await expect(run(cluster)).rejects.toThrow('no such plugin: "disks"');
    const detach = run(cluster, { AllocationID: '', Mode: CLAIM_MODE.gc });
    await expect(detach).rejects.toThrow('no such plugin: "disks"');
    expect(Object.keys(cluster.stored().ReadClaims)).toHaveLength(2);
    cluster.machine('c', { controller: true });
    await run(cluster);
    expect(cluster.machines.calls).toEqual(['ControllerDetachVolume']);
  });

  it('VL-113: not from a provider while another allocation of the machine uses it, though told to stop', async () => {
    const cluster = published({ beside: 'm' });
    await run(cluster);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
  });

  it('VL-113: its own allocation does not count, though its agent has not said that it ended', async () => {
    const cluster = published();
    cluster.status('own', 'running');
    await run(cluster);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume', 'ControllerDetachVolume']);
  });

  it('VL-113: nor while the machine has yet to unmount it of one that has ended; whoever is last detaches it', async () => {
    const cluster = published({ beside: 'm' });
    cluster.status('other', 'complete');
    await run(cluster);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
    await run(cluster, { AllocationID: 'other' });
    expect(cluster.machines.calls.slice(1)).toEqual(['NodeDetachVolume', 'ControllerDetachVolume']);
    expect(cluster.stored()).toMatchObject({ ReadClaims: {}, PastClaims: {} });
  });

  it('VL-111, VL-113: an operator’s detach has unmounted all that had ended, and detaches the disk', async () => {
    const cluster = published({ beside: 'm' });
    cluster.status('other', 'complete');
    await run(cluster, { AllocationID: '', Mode: CLAIM_MODE.gc });
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume', 'NodeDetachVolume', 'ControllerDetachVolume']);
  });

  it('VL-112: neither attached nor detached by a plugin that cannot, or of which there is no need', async () => {
    const cluster = published({ controller: false });
    cluster.volume({ ID: 'plain' });
    cluster.claimed('p', 'm', { volume: 'plain' });
    cluster.status('p', 'complete');
    await run(cluster, { AllocationID: 'p', Mode: CLAIM_MODE.write }, 'plain');
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
  });

  it('VL-115: the external ID may come from the claim, another claim of the machine, or its plugin', async () => {
    const fromPlugin = published({ externalId: '' });
    await run(fromPlugin);
    expect(fromPlugin.machines.asked.at(-1)?.request).toMatchObject({ ClientCSINodeID: 'external-m' });
    const fromOwn = published();
    await run(fromOwn, { ExternalNodeID: 'said-so' });
    expect(fromOwn.machines.asked.at(-1)?.request).toMatchObject({ ClientCSINodeID: 'said-so' });
  });

  it('VL-116: of a machine that is gone, and was never called anything, nothing can be detached: freed', async () => {
    const cluster = published({ externalId: '' });
    cluster.write('NodeDeregister', { NodeID: 'm' });
    await run(cluster);
    expect(cluster.machines.calls).toEqual([]);
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
  });

  it('VL-117: a machine without the plugin now is an error that is tried again', async () => {
    const cluster = published({ externalId: '' });
    cluster.machine('m', { over: { CSINodePlugins: {} } });
    await expect(run(cluster)).rejects.toThrow(
      'missing external node ID: failed to find storage provider info for client "m", node plugin "disks" is not running or has not fingerprinted on this client',
    );
    expect(cluster.stored().PastClaims['own']).toMatchObject({ State: CLAIM_STATE.nodeDetached });
  });

  it('VL-119: a controller that refuses keeps the claims, and the state reached', async () => {
    const cluster = published();
    cluster.machines.refusing('agent.csiControllerDetachVolume', 'CSI.ControllerDetachVolume: busy');
    await expect(run(cluster)).rejects.toThrow(
      'could not detach from controller: controller detach volume: CSI.ControllerDetachVolume: busy',
    );
    expect(cluster.stored().PastClaims['own']).toMatchObject({ State: CLAIM_STATE.nodeDetached });
    expect(Object.keys(cluster.stored().ReadClaims)).toHaveLength(2);
  });

  it('VL-124: what fails again writes nothing again', async () => {
    const cluster = published();
    cluster.machines.refusing('agent.csiControllerDetachVolume', 'busy');
    await run(cluster).catch(() => {});
    const before = cluster.state.appliedIndex;
    for (let n = 0; n < 5; n++) await run(cluster, { State: CLAIM_STATE.nodeDetached }).catch(() => {});
    expect(cluster.state.appliedIndex).toBe(before);
  });

  it('API-627, VL-123: two at once end with the claim gone', async () => {
    const cluster = published();
    await Promise.all([run(cluster), run(cluster)]);
    expect(cluster.stored().PastClaims).toEqual({});
    expect(Object.keys(cluster.stored().ReadClaims)).toEqual(['other']);
  });

  it('VL-104: what is missing is said', async () => {
    const cluster = published();
    await expect(run(cluster, {}, '')).rejects.toThrow('missing volume ID');
    await expect(run(cluster, {}, 'none')).rejects.toThrow('no such volume');
  });

  const NO_PATH = 'could not detach from controller: controller detach volume: No path to node';
  it.each([
    { state: CLAIM_STATE.controllerDetached, gone: false, beside: 'elsewhere', known: true, error: '', left: 1 },
    { state: CLAIM_STATE.nodeDetached, gone: false, beside: 'm', known: true, error: '', left: 1 },
    { state: CLAIM_STATE.nodeDetached, gone: false, beside: 'elsewhere', known: true, error: NO_PATH, left: 2 },
    { state: CLAIM_STATE.taken, gone: true, beside: 'elsewhere', known: true, error: NO_PATH, left: 2 },
    { state: CLAIM_STATE.taken, gone: true, beside: 'elsewhere', known: false, error: '', left: 1 },
    { state: CLAIM_STATE.taken, gone: false, beside: 'elsewhere', known: true, error: NO_PATH, left: 2, mode: '' },
  ])('VL-125: $state, machine gone: $gone, other $beside, ID known: $known → $left left', async (row) => {
    const cluster = published({ beside: row.beside, externalId: row.known ? 'external-m' : '' });
    if (row.gone) cluster.write('NodeDeregister', { NodeID: 'm' });
    cluster.machines.unreachable('agent.csiControllerDetachVolume');
    cluster.machines.unreachable('agent.csiNodeDetachVolume');
    const running = run(cluster, { State: row.state, ...(row.mode !== undefined && { AccessMode: row.mode }) });
    if (row.error === '') await running;
    else await expect(running).rejects.toThrow(row.error);
    expect(Object.keys(cluster.stored().ReadClaims)).toHaveLength(row.left);
    if (row.error !== '') expect(cluster.stored().PastClaims['own']?.State).toBe(CLAIM_STATE.nodeDetached);
  });
});
