import { CLAIM_STATE, LOOK_AT_VOLUME } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { AGENTS_TURN_MS } from './volume-watcher.js';
import { LONGEST_RETRY_MS, QUIESCENT_MS } from './volume-worker.js';
import { VolumesCluster } from './volumes-cluster.fixture.js';
import { CSI_CONTROLLER } from '@waybill/rpc';

/** A cluster with volume `data`, written by `a` on machine `m`, and a holder. */
function watched(): VolumesCluster {
  const cluster = new VolumesCluster();
  cluster.machine('m');
  cluster.volume();
  cluster.claimed('a', 'm');
  cluster.lead();
  return cluster;
}
const wake = (cluster: VolumesCluster, volume = 'data'): void =>
  void cluster.write('CSIVolumeClaim', { VolumeID: volume, Claim: LOOK_AT_VOLUME });

describe('the watcher of volumes', () => {
  it('VL-140, VL-153: a volume whose claims are in use costs no call, and its worker ends after the quiet time', async () => {
    const cluster = watched();
    wake(cluster);
    await cluster.time.pass(10);
    expect(cluster.holder.stats()).toMatchObject({ workers: 1, passes: 1, unpublishes: 0 });
    await cluster.time.pass(QUIESCENT_MS);
    expect(cluster.holder.stats()).toMatchObject({ workers: 0, passes: 1 });
    expect(cluster.time.pending).toBe(0);
  });

  it('VL-141, VL-153: the claim of an allocation that has ended is given back, and its mode with it', async () => {
    const cluster = watched();
    cluster.status('a', 'complete');
    wake(cluster);
    await cluster.time.pass(10);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
    expect(cluster.stored()).toMatchObject({ WriteClaims: {}, PastClaims: {}, AccessMode: '' });
  });

  it('VL-141: a claim that cannot be given back keeps none of the others', async () => {
    const cluster = new VolumesCluster();
    const AccessMode = 'multi-node-multi-writer';
    cluster.volume({ RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode }] });
    for (const id of ['a', 'b', 'c']) {
      cluster.machine(`machine-${id}`);
      cluster.claimed(id, `machine-${id}`, { read: true, accessMode: AccessMode });
    }
    cluster.lead();
    cluster.machines.answers.set('agent.csiNodeDetachVolume', ({ nodeId }) => {
      if (nodeId === 'machine-a') throw new Error('no');
    });
    for (const id of ['a', 'b', 'c']) cluster.status(id, 'complete');
    wake(cluster);
    await cluster.time.pass(10);
    expect(Object.keys(cluster.stored().PastClaims)).toEqual(['a']);
  });

  it('VL-136, VL-154: what ended while nobody watched is freed by the next holder, once', async () => {
    const cluster = watched();
    cluster.follow();
    cluster.status('a', 'complete');
    wake(cluster);
    cluster.lead();
    await cluster.time.pass(QUIESCENT_MS * 2);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
    expect(cluster.holder.stats()).toMatchObject({ workers: 0 });
    expect(cluster.stored().WriteClaims).toEqual({});
  });

  it('VL-136: a new holder leaves alone what has nothing to free', () => {
    expect(watched().holder.stats()).toMatchObject({ started: 0 });
  });

  it('VL-135: disabled, it ends all workers at once and ignores what comes', async () => {
    const cluster = watched();
    wake(cluster);
    cluster.follow();
    expect(cluster.holder.stats()).toMatchObject({ workers: 0 });
    expect(cluster.time.pending).toBe(0);
    wake(cluster);
    await cluster.time.pass(QUIESCENT_MS);
    expect(cluster.holder.stats()).toMatchObject({ started: 1, passes: 0 });
  });

  it('VL-138, VL-152: a thousand volumes and one change make one worker; equal names in two namespaces are two', async () => {
    const cluster = watched();
    for (let n = 0; n < 1_000; n++) cluster.volume({ ID: `v${n}` });
    await cluster.time.pass(QUIESCENT_MS + 1_000);
    const before = cluster.holder.stats()['started'] ?? 0;
    wake(cluster, 'v7');
    expect(cluster.holder.stats()).toMatchObject({ workers: 1, started: before + 1 });
    cluster.write('NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    cluster.volume({ ID: 'v7', Namespace: 'team' });
    expect(cluster.holder.stats()).toMatchObject({ workers: 2 });
  });

  it('VL-142: of a volume that is gone the worker ends without a call', async () => {
    const cluster = watched();
    cluster.volume({ ID: 'other' });
    cluster.write('CSIVolumeDeregister', { VolumeIDs: ['other'], Force: false });
    await cluster.time.pass(10);
    expect(cluster.holder.stats()).toMatchObject({ workers: 0 });
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-139, VL-145: changes while a pass runs come to one more pass', async () => {
    const cluster = watched();
    let finish: () => void = () => {};
    cluster.machines.answers.set('agent.csiNodeDetachVolume', () => new Promise<void>((resolve) => (finish = resolve)));
    cluster.status('a', 'complete');
    wake(cluster);
    await cluster.time.pass(10);
    const before = cluster.holder.stats()['passes'];
    for (let n = 0; n < 5; n++) wake(cluster);
    expect(cluster.holder.stats()['passes']).toBe(before);
    finish();
    await cluster.time.pass(5_000);
    expect(cluster.holder.stats()).toMatchObject({ passes: 2, unpublishes: 1, failures: 0 });
  });

  it('VL-143, VL-144: a worker that rested too long is gone, the next change starts another', async () => {
    const cluster = watched();
    wake(cluster);
    await cluster.time.pass(QUIESCENT_MS + 1);
    wake(cluster);
    expect(cluster.holder.stats()).toMatchObject({ workers: 1, started: 2 });
    await cluster.time.pass(QUIESCENT_MS - 1_000);
    wake(cluster); // just before its end
    await cluster.time.pass(2_000);
    expect(cluster.holder.stats()).toMatchObject({ workers: 1, started: 2, passes: 3 });
  });

  it('VL-146, VL-124: what fails is tried again after 1 s, 2 s, 4 s … 60 s, without a transaction', async () => {
    const cluster = watched();
    cluster.machines.unreachable('agent.csiNodeDetachVolume');
    cluster.status('a', 'complete');
    wake(cluster);
    await cluster.time.pass(5_000);
    const { passes = 0 } = cluster.holder.stats();
    expect(cluster.claimWrites).toBe(0); // the sign itself has stored the past claim
    await cluster.time.pass(LONGEST_RETRY_MS * 10);
    const { passes: later = 0, workers } = cluster.holder.stats();
    expect(later - passes).toBeGreaterThan(9);
    expect(later - passes).toBeLessThan(18);
    expect([workers, cluster.claimWrites]).toEqual([1, 0]);
    wake(cluster);
    const { passes: woken = 0 } = cluster.holder.stats();
    await cluster.time.pass(4_000);
    expect((cluster.holder.stats()['passes'] ?? 0) - woken).toBeGreaterThanOrEqual(3); // back to 1 s
  });

  it('VL-146: many changes of one volume are at most three passes at once and one a second', async () => {
    const cluster = watched();
    for (let n = 0; n < 200; n++) {
      wake(cluster);
      await cluster.time.pass(50);
    }
    const { passes = 0 } = cluster.holder.stats();
    expect(passes).toBeGreaterThanOrEqual(10);
    expect(passes).toBeLessThanOrEqual(13);
  });

  it('VL-147: one that hangs delays no other volume', async () => {
    const cluster = watched();
    cluster.volume({ ID: 'other' });
    cluster.claimed('b', 'm', { volume: 'other' });
    cluster.machines.answers.set('agent.csiNodeDetachVolume', ({ request }) =>
      request['VolumeID'] === 'data' ? new Promise(() => {}) : {},
    );
    cluster.status('a', 'complete');
    wake(cluster);
    cluster.status('b', 'complete');
    wake(cluster, 'other');
    await cluster.time.pass(5_000);
    expect(cluster.stored('other').WriteClaims).toEqual({});
    expect(Object.keys(cluster.stored().WriteClaims)).toEqual(['a']);
  });

  it('VL-148: what a deposed holder still has in hand is not written; its successor writes under its own term', async () => {
    const cluster = watched();
    let finish: () => void = () => {};
    cluster.machines.answers.set('agent.csiNodeDetachVolume', () => new Promise<void>((resolve) => (finish = resolve)));
    cluster.status('a', 'complete');
    wake(cluster);
    await cluster.time.pass(10);
    cluster.follow();
    cluster.machines.answers.clear();
    cluster.lead();
    finish();
    await cluster.time.pass(10_000);
    const epochs = cluster.state.history
      .filter(({ txn }) => txn.fence?.role === 'volumes')
      .map(({ txn }) => txn.fence?.epoch);
    expect(new Set(epochs)).toEqual(new Set([2]));
    expect(cluster.stored().WriteClaims).toEqual({});
  });

  it('VL-148, AU-254: each call carries the epoch of the present term, also in a process that held the role before', async () => {
    const cluster = watched();
    cluster.volume({ ID: 'other' });
    cluster.claimed('b', 'm', { volume: 'other' });
    cluster.status('a', 'complete');
    wake(cluster);
    await cluster.time.pass(10_000);
    const before = cluster.machines.asked.length;
    const ofFirstTerm = cluster.term;
    cluster.follow();
    cluster.lead();
    cluster.status('b', 'complete');
    wake(cluster, 'other');
    await cluster.time.pass(10_000);
    const fences = cluster.machines.asked.map(({ fence }) => fence);
    expect(new Set(fences.slice(0, before))).toEqual(new Set([{ Role: 'volumes', Epoch: 1, Holder: 'test' }]));
    expect(new Set(fences.slice(before))).toEqual(new Set([{ Role: 'volumes', Epoch: 2, Holder: 'test' }]));
    expect(fences.length).toBeGreaterThan(before);
    const late = ofFirstTerm.calls.controller(CSI_CONTROLLER.list, {
      PluginID: 'disks',
      MaxEntries: 0,
      StartingToken: '',
    });
    await expect(late).rejects.toThrow();
    expect(cluster.machines.asked).toHaveLength(fences.length);
  });

  it('VL-153: a claim in mid-way and those of vanished allocations, one call each', async () => {
    const cluster = watched();
    cluster.volume({
      ID: 'shared',
      RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'multi-node-multi-writer' }],
    });
    for (const id of ['x', 'y', 'live'])
      cluster.claimed(id, 'm', { volume: 'shared', accessMode: 'multi-node-multi-writer' });
    for (const id of ['x', 'y']) cluster.status(id, 'failed');
    wake(cluster, 'shared');
    await cluster.time.pass(5_000);
    expect(cluster.holder.stats()).toMatchObject({ unpublishes: 2 });
    expect(Object.keys(cluster.stored('shared').WriteClaims)).toEqual(['live']);
  });

  it('VL-69: one that is back before its claim is looked at keeps it too, until it ends', async () => {
    const cluster = watched();
    cluster.status('a', 'lost');
    wake(cluster); // writes the claim down as past
    cluster.status('a', 'running');
    expect(Object.keys(cluster.stored().PastClaims)).toHaveLength(1);
    await cluster.time.pass(10 * LONGEST_RETRY_MS);
    expect(cluster.machines.calls).toEqual([]);
    cluster.status('a', 'complete');
    await cluster.time.pass(LONGEST_RETRY_MS);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
    expect(cluster.stored().PastClaims).toEqual({});
  });

  it('VL-69: an allocation that its machine brings back while its claim is released keeps it, until it ends', async () => {
    const cluster = watched();
    let finish: () => void = () => {};
    cluster.machines.answers.set('agent.csiNodeDetachVolume', () => new Promise<void>((resolve) => (finish = resolve)));
    cluster.lost('a');
    await cluster.time.pass(10);
    cluster.status('a', 'running');
    finish();
    await cluster.time.pass(10_000);
    expect(Object.keys(cluster.stored().WriteClaims)).toEqual(['a']);
    cluster.machines.answers.clear();
    cluster.status('a', 'complete');
    await cluster.time.pass(LONGEST_RETRY_MS);
    expect(cluster.stored().WriteClaims).toEqual({});
  });

  it('VL-151: a claim that its agent has not given back after its turn is freed, though no request ever came', async () => {
    const cluster = watched();
    cluster.status('a', 'complete');
    await cluster.time.pass(AGENTS_TURN_MS - 1);
    expect(cluster.machines.asked).toEqual([]); // the agent is about to
    await cluster.time.pass(10);
    expect(cluster.machines.calls).toEqual(['NodeDetachVolume']);
    expect(cluster.stored().WriteClaims).toEqual({});
  });

  it('VL-151: a volume of several allocations that end is looked at once, and not at all without the role', async () => {
    const cluster = new VolumesCluster();
    cluster.machine('m');
    const AccessMode = 'multi-node-multi-writer';
    cluster.volume({ RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode }] });
    for (const id of ['a', 'b']) cluster.claimed(id, 'm', { accessMode: AccessMode });
    cluster.lead();
    for (const id of ['a', 'b']) cluster.status(id, 'complete');
    const { pending } = cluster.time;
    cluster.follow();
    expect([pending, cluster.time.pending]).toEqual([1, 0]);
  });

  it('the end of an allocation without volumes is none of the watcher', async () => {
    const cluster = watched();
    await cluster.time.pass(QUIESCENT_MS + 1_000);
    const Job = fixtures.aJob({ ID: 'plain', TaskGroups: [fixtures.aGroup({ Name: 'other' })] });
    cluster.write('JobRegister', fixtures.aRegistration(Job, { Eval: fixtures.anEval({ ID: 'plain' }) }));
    const placed = fixtures.anAlloc({ ID: 'p', NodeID: 'm', JobID: 'plain', Job });
    cluster.write('ApplyPlanResults', fixtures.aPlanResult({ Job, EvalID: 'plain', AllocsUpdated: [placed] }));
    cluster.status('p', 'complete');
    expect([cluster.time.pending, cluster.holder.stats()['workers']]).toEqual([0, 0]);
  });

  it('VL-151: one that its agent gave back in time starts nothing, nor does one of a deposed holder', async () => {
    const cluster = watched();
    cluster.status('a', 'complete');
    const claim = fixtures.aCSIClaim({ AllocationID: 'a', NodeID: 'm', State: CLAIM_STATE.nodeDetached });
    await cluster.term.unpublish.releaseClaim({ namespace: 'default', volumeId: 'data', claim });
    await cluster.time.pass(2 * AGENTS_TURN_MS + QUIESCENT_MS);
    expect(cluster.machines.asked).toEqual([]);
    cluster.claimed('b', 'm');
    cluster.status('b', 'complete');
    cluster.follow();
    expect(cluster.time.pending).toBe(0);
  });

  it('VL-151: the claim of an allocation that is lost with its machine is freed without waiting for housekeeping', async () => {
    const cluster = watched();
    const down = { NodeID: 'm', Status: 'down', UpdatedAt: 0, NodeEvent: null, IdentitySigningKeyID: '' } as const;
    cluster.write('NodeUpdateStatus', down);
    cluster.lost('a');
    await cluster.time.pass(10);
    expect(cluster.machines.asked).toEqual([]); // nobody can be asked
    expect(cluster.stored().WriteClaims).toEqual({});
  });
});
