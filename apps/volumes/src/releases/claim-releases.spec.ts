import { CLAIM_MODE, CLAIM_STATE, FakeTime, LOOK_AT_VOLUME } from '@waybill/model';
import { type Applied, fixtures, StateMachine } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { CSI_CONTROLLER } from '@waybill/rpc';
import { VolumesCluster } from './volumes-cluster.fixture.js';

const SOON_MS = 50;

/** Volume `data`, attached by the controller on `c` and written by `a` on machine `m`. */
function claimed(): VolumesCluster {
  const cluster = new VolumesCluster();
  cluster.machine('m');
  cluster.machine('c', { controller: true });
  cluster.volume({ ControllerRequired: true });
  cluster.claimed('a', 'm', { externalId: 'external-m' });
  return cluster;
}

/** How the claim was written down on its way, whoever asked the service and when. */
const stepsOf = (cluster: VolumesCluster): unknown[] =>
  cluster.state.history.flatMap(({ txn }) =>
    txn.type === 'CSIVolumeClaim' && txn.fence ? [{ ...txn.payload, AsOf: undefined }] : [],
  );

const unpublishOf = (cluster: VolumesCluster): Promise<number> =>
  cluster.term.unpublish.releaseClaim({
    namespace: 'default',
    volumeId: 'data',
    claim: fixtures.aCSIClaim({ AllocationID: 'a', NodeID: 'm', ExternalNodeID: 'external-m' }),
  });

describe('claims that nobody gives back', () => {
  it('VL-134: are nobody’s business but the holder’s', async () => {
    const cluster = claimed();
    cluster.status('a', 'complete');
    await cluster.time.pass(SOON_MS);
    expect(cluster.machines.calls).toEqual([]);
    cluster.lead();
    await cluster.time.pass(SOON_MS);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume', 'ControllerDetachVolume']);
  });

  const changes: [string, (cluster: VolumesCluster, namespace: string) => void][] = [
    ['a registration', (cluster, Namespace) => cluster.volume({ Namespace, ID: 'else' })],
    [
      'a claim',
      (cluster, namespace) => {
        const Claim = fixtures.aCSIClaim({ AllocationID: 'b', NodeID: 'm', Mode: CLAIM_MODE.read });
        cluster.write(
          'CSIVolumeClaim',
          { VolumeID: 'else', Claim: { ...Claim, State: CLAIM_STATE.unpublishing } },
          namespace,
        );
      },
    ],
    [
      'the sign of housekeeping',
      (cluster, namespace) => cluster.write('CSIVolumeClaim', { VolumeID: 'else', Claim: LOOK_AT_VOLUME }, namespace),
    ],
  ];
  it.each(
    changes.flatMap(([what, change]) => ['default', 'team'].map((namespace) => [what, namespace, change] as const)),
  )('VL-137: %s in namespace %s wakes the watcher', async (_, namespace, change) => {
    const cluster = new VolumesCluster();
    cluster.write('NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    cluster.machine('m');
    cluster.volume({ Namespace: namespace, ID: 'else' });
    cluster.lead();
    expect(cluster.holder.stats()).toMatchObject({ started: 0 });
    change(cluster, namespace);
    expect(cluster.holder.stats()).toMatchObject({ started: 1, workers: 1 });
  });

  it('VL-150: go the way that an agent’s request goes, step by step, each step a transaction', async () => {
    const byWatcher = claimed();
    byWatcher.status('a', 'complete');
    byWatcher.lead();
    await byWatcher.time.pass(SOON_MS);
    const byRequest = claimed();
    byRequest.lead();
    await unpublishOf(byRequest);
    expect(stepsOf(byWatcher)).toEqual(stepsOf(byRequest));
    expect(stepsOf(byWatcher)).toHaveLength(3);
    expect(byWatcher.machines.asked).toEqual(byRequest.machines.asked);
  });

  it.each([
    ['before', async (cluster: VolumesCluster) => (await unpublishOf(cluster), cluster.status('a', 'complete'))],
    ['after', async (cluster: VolumesCluster) => (cluster.status('a', 'complete'), await unpublishOf(cluster))],
  ])('VL-234: given back %s the allocation’s end is known, a claim is freed once', async (_, end) => {
    const cluster = claimed();
    cluster.lead();
    await end(cluster);
    await cluster.time.pass(10_000);
    expect(cluster.stored()).toMatchObject({ WriteClaims: {}, PastClaims: {}, AccessMode: '' });
    expect(cluster.machines.calls.filter((call) => call === 'ControllerDetachVolume')).toHaveLength(1);
  });

  it.each([
    ['NodeDetachVolume', ['NodeDetachVolume'], CLAIM_STATE.unpublishing],
    ['ControllerDetachVolume', ['NodeDetachVolume', 'ControllerDetachVolume'], CLAIM_STATE.nodeDetached],
  ])(
    'VL-69: an allocation that runs again during %s keeps its claim; what comes after is not done',
    async (during, calls, State) => {
      const cluster = claimed();
      cluster.status('a', 'complete');
      cluster.machines.answers.set(`agent.csi${during}`, () => cluster.status('a', 'running'));
      cluster.lead();
      await cluster.time.pass(SOON_MS);
      expect(cluster.machines.calls).toEqual(calls);
      expect(cluster.stored().WriteClaims).toHaveProperty('a');
      expect(cluster.state.tables.csi_volumes.get('default/data')?.PastClaims['a']).toMatchObject({ State });
    },
  );

  it('GC-62: of a machine that was collected are freed without asking it', async () => {
    const cluster = claimed();
    cluster.status('a', 'complete');
    cluster.write('NodeDeregister', { NodeID: 'm' });
    cluster.lead();
    await cluster.time.pass(SOON_MS);
    expect(cluster.machines.calls).toEqual(['ControllerDetachVolume']);
    expect(cluster.machines.asked[0]?.request).toMatchObject({ ClientCSINodeID: 'external-m' });
    expect(cluster.stored()).toMatchObject({ WriteClaims: {}, PastClaims: {} });
  });
});

describe('what the log holds of volumes', () => {
  it('VL-299: is what a replay makes of it, without a call and without a transaction', async () => {
    const cluster = claimed();
    cluster.status('a', 'complete');
    cluster.lead();
    await cluster.time.pass(SOON_MS);
    const { calls } = cluster.machines;
    const replayed = new StateMachine();
    for (const { txn } of cluster.state.history) replayed.apply(txn);
    for (const table of ['csi_volumes', 'csi_plugins', 'host_volumes', 'allocs'] as const)
      expect([...replayed.tables[table].all()]).toEqual([...cluster.state.tables[table].all()]);
    expect(replayed.appliedIndex).toBe(cluster.state.appliedIndex);
    expect(cluster.machines.calls).toEqual(calls);
  });

  it('VL-304: told twice, it is done once', async () => {
    const cluster = claimed();
    const twice: Applied[] = [];
    cluster.lead();
    cluster.state.onApplied((applied) => {
      twice.push(applied);
      cluster.holder.applied(applied);
    });
    cluster.status('a', 'complete');
    cluster.write('CSIVolumeClaim', { VolumeID: 'data', Claim: LOOK_AT_VOLUME });
    await cluster.time.pass(10_000);
    expect(twice.length).toBeGreaterThan(3);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume', 'ControllerDetachVolume']);
    expect(cluster.holder.stats()).toMatchObject({ workers: 1, started: 1 });
  });
});

describe('a call to a plugin', () => {
  it('VL-132: may take minutes; meanwhile other volumes are claimed, released and written', async () => {
    const cluster = claimed();
    const provider = new FakeTime();
    cluster.machines.answers.set('agent.csiControllerExpandVolume', async () => {
      await new Promise<void>((resolve) => provider.after(4 * 60_000, resolve));
      return { CapacityBytes: 1, NodeExpansionRequired: false };
    });
    cluster.lead();
    let isOver = false;
    const request = { PluginID: 'disks', ExternalVolumeID: 'd', CapacityMin: 1, CapacityMax: 0, Secrets: null };
    const expanding = cluster.term.calls
      .controller(CSI_CONTROLLER.expand, { ...request, VolumeCapability: null, MountOptions: null })
      .finally(() => (isOver = true));
    const shares = fixtures.aNodePlugin({ PluginID: 'shares' });
    cluster.machine('n', { over: { CSINodePlugins: { shares } } });
    cluster.volume({ ID: 'other', PluginID: 'shares' });
    cluster.claimed('b', 'n', { volume: 'other' });
    cluster.status('b', 'complete');
    cluster.write('CSIVolumeClaim', { VolumeID: 'other', Claim: LOOK_AT_VOLUME });
    await cluster.time.pass(SOON_MS);
    expect(cluster.stored('other').WriteClaims).toEqual({});
    expect(isOver).toBe(false);
    await provider.pass(4 * 60_000);
    expect(await expanding).toEqual({ CapacityBytes: 1, NodeExpansionRequired: false });
  });
});
