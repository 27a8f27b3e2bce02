import { CLAIM_MODE, CLAIM_STATE, type Refusal } from '@waybill/model';
import type { AgentClaimRequest } from '@waybill/rpc';
import { describe, expect, it, vi } from 'vitest';
import { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

/** Volume `data`, and allocation `a` that runs on machine `m`; the controller, if there is one, on `c`. */
function placed({ controller = false } = {}): VolumesCluster {
  const cluster = new VolumesCluster();
  cluster.machine('m');
  if (controller) cluster.machine('c', { controller: true });
  const context = { Context: { disk: 'fast' }, Secrets: { key: 'secret' } };
  cluster.volume({
    ControllerRequired: controller,
    MountOptions: { FSType: 'ext4', MountFlags: ['noatime'] },
    ...context,
  });
  cluster.alloc('a', 'm');
  cluster.lead();
  return cluster;
}

const request = (over: Partial<AgentClaimRequest> = {}): AgentClaimRequest => ({
  VolumeID: 'data',
  AllocationID: 'a',
  NodeID: 'm',
  ExternalNodeID: '',
  Claim: CLAIM_MODE.write,
  AccessMode: 'single-node-writer',
  AttachmentMode: 'file-system',
  State: CLAIM_STATE.taken,
  Timestamp: 0,
  Namespace: 'default',
  Region: 'global',
  SecretID: 'secret-of-m',
  ...over,
});
const claim = (cluster: VolumesCluster, over: Partial<AgentClaimRequest> = {}) =>
  cluster.term.claims.claim(request(over), {});

describe('an agent claims a volume', () => {
  it('VL-4, VL-96, VL-97: recorded with the external name of its machine; without a controller there is no publish context', async () => {
    const cluster = placed();
    const answer = await claim(cluster);
    expect(answer.PublishContext).toEqual({});
    expect(answer.Volume).toMatchObject({ ID: 'data', Secrets: { key: 'secret' }, AccessMode: 'single-node-writer' });
    expect(cluster.stored().WriteClaims['a']).toMatchObject({ NodeID: 'm', ExternalNodeID: 'external-m' });
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-101: one that waited until its allocation had ended is refused: nobody would give the disk back', async () => {
    const cluster = placed({ controller: true });
    let lose: (why: Error) => void = () => {};
    const lost = new Promise<never>((_, reject) => (lose = reject));
    vi.spyOn(cluster.state, 'propose').mockReturnValueOnce(lost);
    const before = claim(cluster);
    const waiting = claim(cluster);
    cluster.status('a', 'complete');
    lose(new Error('the log does not answer'));
    await expect(before).rejects.toThrow('the log does not answer');
    await expect(waiting).rejects.toThrow('allocation a has ended');
    expect([cluster.stored().WriteClaims, cluster.machines.asked]).toEqual([{}, []]);
  });

  it('VL-102, VL-129: asked again while the plugin hangs it shares its call; afterwards it is called again', async () => {
    const cluster = placed({ controller: true });
    const hanging: ((answer: object) => void)[] = [];
    cluster.machines.answers.set(
      'agent.csiControllerAttachVolume',
      () => new Promise((answer) => hanging.push(answer)),
    );
    const asked = [claim(cluster), claim(cluster), claim(cluster)];
    await expect.poll(() => hanging.length).toBe(1);
    hanging[0]?.({ PublishContext: { device: '/dev/x' } });
    for (const { PublishContext } of await Promise.all(asked)) expect(PublishContext).toEqual({ device: '/dev/x' });
    expect(cluster.machines.calls).toEqual(['ControllerAttachVolume']);
    cluster.machines.answers.clear();
    await claim(cluster);
    expect(cluster.machines.calls).toHaveLength(2);
  });

  it('VL-95, VL-98: recorded first, attached then, with all that the plugin needs', async () => {
    const cluster = placed({ controller: true });
    let recorded = false;
    cluster.machines.answers.set('agent.csiControllerAttachVolume', () => {
      recorded = cluster.stored().WriteClaims['a'] !== undefined;
      return { PublishContext: { device: '/dev/x' } };
    });
    expect((await claim(cluster)).PublishContext).toEqual({ device: '/dev/x' });
    expect(recorded).toBe(true);
    expect(cluster.machines.asked[0]?.request).toEqual({
      PluginID: 'disks',
      VolumeID: 'disk-1',
      ClientCSINodeID: 'external-m',
      AttachmentMode: 'file-system',
      AccessMode: 'single-node-writer',
      MountOptions: { FSType: 'ext4', MountFlags: ['noatime'] },
      ReadOnly: false,
      Secrets: { key: 'secret' },
      VolumeContext: { disk: 'fast' },
    });
  });

  it('VL-95: what the record refuses never reaches the plugin', async () => {
    const cluster = placed({ controller: true });
    cluster.claimed('first', 'm');
    await expect(claim(cluster)).rejects.toThrow('alloc "a" failed to claim volume "data": volume max claims reached');
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-102: asked again it publishes again', async () => {
    const cluster = placed({ controller: true });
    await claim(cluster);
    await claim(cluster);
    expect(cluster.machines.calls).toEqual(['ControllerAttachVolume', 'ControllerAttachVolume']);
    expect(Object.keys(cluster.stored().WriteClaims)).toEqual(['a']);
  });

  it('VL-101: a claim whose publish failed stays, for its agent to give back', async () => {
    const cluster = placed({ controller: true });
    cluster.machines.refusing('agent.csiControllerAttachVolume', 'CSI.ControllerAttachVolume: no');
    await expect(claim(cluster)).rejects.toThrow(
      'controller publish: controller attach volume: CSI.ControllerAttachVolume: no',
    );
    expect(Object.keys(cluster.stored().WriteClaims)).toEqual(['a']);
    await cluster.term.claims.release(request({ State: CLAIM_STATE.nodeDetached }), {});
    expect(cluster.stored().WriteClaims).toEqual({});
  });

  it('VL-100: a plugin that is not ready for it yet may be asked again', async () => {
    const cluster = placed({ controller: true });
    cluster.machines.refusing('agent.csiControllerAttachVolume', 'rpc error: code = FailedPrecondition desc = busy');
    await expect(claim(cluster)).rejects.toMatchObject({
      code: 'retryable',
      message: expect.stringMatching(/^CSI client error \(retryable\): controller publish: /) as string,
    });
  });

  it('VL-226: the code tells the agent whether another claim may succeed', async () => {
    const cluster = placed({ controller: true });
    const codeOf = () => claim(cluster).then(undefined, (error: unknown) => (error as Refusal).code);
    cluster.machines.refusing('agent.csiControllerAttachVolume', 'no such plugin here', 'retryable');
    expect(await codeOf()).toBe('retryable');
    cluster.machines.refusing('agent.csiControllerAttachVolume', 'no');
    expect(await codeOf()).toBe('internal');
    cluster.machines.unreachable('agent.csiControllerAttachVolume');
    expect(await codeOf()).toBe('internal');
  });

  it('VL-226: a claim whose disk is not attached because the role was lost may be asked for again', async () => {
    const cluster = placed({ controller: true });
    cluster.state.onApplied(() => cluster.oversleep());
    await expect(claim(cluster)).rejects.toMatchObject({
      code: 'retryable',
      message: 'controller publish: No cluster leader',
    });
  });

  it('VL-103: no way to the controller', async () => {
    const cluster = placed({ controller: true });
    cluster.machines.unreachable('agent.csiControllerAttachVolume');
    await expect(claim(cluster)).rejects.toThrow('controller publish: controller attach volume: No path to node');
  });

  it('VL-96: without an external ID the claim is recorded, and only the publish fails', async () => {
    const cluster = placed({ controller: true });
    cluster.machine('m', { over: { CSINodePlugins: {} } });
    await expect(claim(cluster)).rejects.toThrow('controller publish: missing external node ID: failed to find');
    expect(cluster.stored().WriteClaims['a']).toMatchObject({ ExternalNodeID: '' });
  });

  it.each([
    ['another secret', { SecretID: 'other' }],
    ['the name of another machine', { NodeID: 'elsewhere', SecretID: 'secret-of-elsewhere' }],
    ['a sign that only servers give', { Claim: CLAIM_MODE.gc }],
  ])('VL-93: %s is refused, and nothing recorded', async (_, over) => {
    const cluster = placed();
    cluster.machine('elsewhere');
    await expect(claim(cluster, over)).rejects.toThrow('Permission denied');
    expect(cluster.stored().WriteClaims).toEqual({});
  });

  it.each<[string, (cluster: VolumesCluster) => void]>([
    [
      'Unknown allocation: a',
      (cluster) =>
        cluster.write('EvalDelete', { EvalIDs: [], AllocIDs: ['a'], ScanIndex: 1_000, UserInitiated: false }),
    ],
    ['Unknown node m', (cluster) => cluster.write('NodeDeregister', { NodeID: 'm' })],
  ])('VL-99: %s, when it vanishes between the record and the publish', async (error, vanish) => {
    const cluster = placed({ controller: true });
    let hasVanished = false;
    cluster.state.onApplied(({ txn }) => {
      if (txn.type !== 'CSIVolumeClaim' || hasVanished) return;
      hasVanished = true;
      vanish(cluster);
    });
    await expect(claim(cluster)).rejects.toThrow(`controller publish: ${error}`);
    expect(cluster.machines.calls).toEqual([]);
  });

  it('VL-91, VL-94: what is missing or unknown is said', async () => {
    const cluster = placed();
    await expect(claim(cluster, { VolumeID: '' })).rejects.toThrow('missing volume ID');
    await expect(claim(cluster, { VolumeID: 'none' })).rejects.toThrow('volume not found: none');
  });

  it('VL-94: a claim without a machine is for that of its allocation', async () => {
    const cluster = placed();
    await claim(cluster, { NodeID: '' });
    expect(cluster.stored().WriteClaims['a']).toMatchObject({ NodeID: 'm' });
  });

  it('VL-131: who does not hold the role says so, and agents ask again', () => {
    const cluster = placed();
    cluster.follow();
    expect(() => cluster.term).toThrow('No cluster leader');
  });
});
