import { CLAIM_MODE, CLAIM_STATE, NotHolderError } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aRequest, operated } from './operator-commands.fixture.js';
import { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

const DELETE = 'agent.csiControllerDeleteVolume';
const remove = (cluster: VolumesCluster, ids = ['data'], secrets: Record<string, string> | null = null) =>
  cluster.term.delete.deleteVolumes({ namespace: 'default', ids }, secrets, aRequest());
const deregister = (cluster: VolumesCluster, ids = ['data'], force = false): Promise<number> =>
  cluster.term.deregister.deregisterVolumes({ namespace: 'default', ids }, force, aRequest());
const has = (cluster: VolumesCluster, id = 'data'): boolean => cluster.state.tables.csi_volumes.has(`default/${id}`);

/** Volume `data` of a plugin with a controller. */
function stored(over = {}): VolumesCluster {
  const cluster = operated();
  cluster.volume({ ControllerRequired: true, ...over });
  return cluster;
}

describe('a volume is deregistered', () => {
  it('VL-52, VL-53: the record goes, the disk stays', async () => {
    const cluster = stored();
    await expect(async () => deregister(cluster, [])).rejects.toThrow('missing volume IDs');
    await expect(deregister(cluster, ['dat'])).rejects.toThrow('volume not found: dat');
    await deregister(cluster);
    expect(has(cluster)).toBe(false);
    expect(cluster.machines.asked).toEqual([]);
  });

  it('API-222, VL-54, VL-55: not while somebody claims it; by force when nobody runs any more, without a call', async () => {
    const cluster = stored();
    cluster.claimed('a', 'm');
    await expect(deregister(cluster, ['data'], true)).rejects.toThrow('volume in use: data');
    cluster.status('a', 'complete');
    await expect(deregister(cluster)).rejects.toThrow('volume in use: data');
    await deregister(cluster, ['data'], true);
    expect(has(cluster)).toBe(false);
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-56: all or none', async () => {
    const cluster = stored();
    await expect(deregister(cluster, ['data', 'other'])).rejects.toThrow('volume not found: other');
    expect(has(cluster)).toBe(true);
  });
});

describe('a volume is deleted', () => {
  it('VL-57: at its provider, with its secrets and those of the request, then here', async () => {
    const cluster = stored({ Secrets: { a: 'stored', b: 'stored' } });
    let known = false;
    cluster.machines.answers.set(DELETE, () => void (known = has(cluster)));
    await remove(cluster, ['data'], { b: 'given' });
    expect(known).toBe(true);
    expect(has(cluster)).toBe(false);
    expect(cluster.machines.asked.map(({ request }) => request)).toEqual([
      { PluginID: 'disks', ExternalVolumeID: 'disk-1', Secrets: { a: 'stored', b: 'given' } },
    ]);
  });

  it('VL-58: one that is unknown stops before any call, and so does a request for none', async () => {
    const cluster = stored();
    await expect(async () => remove(cluster, [])).rejects.toMatchObject({
      code: 'invalid',
      message: 'missing volume IDs',
    });
    await expect(async () => remove(cluster, ['data', 'gone'])).rejects.toThrow('volume not found: gone');
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-59: without a controller, and without a plugin', async () => {
    const cluster = new VolumesCluster();
    cluster.machine('m');
    cluster.volume();
    cluster.volume({ ID: 'orphan', PluginID: 'gone' });
    cluster.volume({ ID: 'needy', PluginID: 'gone', ControllerRequired: true });
    cluster.lead();
    await expect(remove(cluster)).rejects.toThrow('plugin "disks" for volume "data" not found');
    await expect(remove(cluster, ['orphan'])).rejects.toThrow('plugin "gone" for volume "orphan" not found');
    await expect(remove(cluster, ['needy'])).rejects.toThrow('plugin not found: gone');
  });

  it('VL-60: one in use keeps its disk', async () => {
    const cluster = stored();
    cluster.claimed('a', 'm');
    await expect(remove(cluster)).rejects.toThrow('volume in use: data');
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-60: nobody claims it while its disk is deleted', async () => {
    const cluster = stored();
    cluster.alloc('a', 'm');
    const claiming = (): Promise<unknown> =>
      cluster.term.claims.claim(
        {
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
        },
        {},
      );
    let claim: Promise<unknown> = Promise.resolve();
    cluster.machines.answers.set(DELETE, async () => {
      await Promise.resolve(); // another request comes in
      claim = claiming();
      claim.catch(() => undefined);
      return null;
    });
    await remove(cluster);
    await expect(claim).rejects.toThrow('volume not found: data');
    expect(cluster.machines.calls).toEqual(['ControllerDeleteVolume']);
  });

  it('VL-61: what the provider refuses keeps the record', async () => {
    const cluster = stored();
    cluster.machines.refusing(DELETE, 'CSI.ControllerDeleteVolume: volume "disk-1" is in use: attached');
    await expect(remove(cluster)).rejects.toThrow(
      'controller delete volume: CSI.ControllerDeleteVolume: volume "disk-1" is in use: attached',
    );
    expect(has(cluster)).toBe(true);
  });

  it('VL-303: when the term ends in between, the next holder asks the provider again and forgets it', async () => {
    const cluster = stored();
    cluster.machines.answers.set(DELETE, () => cluster.follow());
    await expect(remove(cluster)).rejects.toBeInstanceOf(NotHolderError);
    expect(has(cluster)).toBe(true);
    cluster.machines.answers.delete(DELETE);
    cluster.lead();
    await remove(cluster);
    expect(has(cluster)).toBe(false);
  });
});
