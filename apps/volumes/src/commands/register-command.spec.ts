import type { CSIVolumeSpecification } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aRequest, aSpecification, operated, withoutController } from './operator-commands.fixture.js';
import type { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

const register = (cluster: VolumesCluster, ...volumes: CSIVolumeSpecification[]): Promise<number> =>
  cluster.term.register.registerVolumes(volumes, aRequest());
const VALIDATE = 'agent.csiControllerValidateVolume';
const EXPAND = 'agent.csiControllerExpandVolume';
const registrations = (cluster: VolumesCluster) =>
  cluster.state.history.filter(({ txn }) => txn.type === 'CSIVolumeRegister');

describe('a volume is registered', () => {
  it('VL-15, VL-17: as given, with what its plugin says', async () => {
    const cluster = withoutController();
    const index = await register(cluster, aSpecification({ Capacity: 7, Context: { a: 'b' } }));
    expect(cluster.stored()).toMatchObject({
      Capacity: 7,
      Context: { a: 'b' },
      Provider: 'disks.example',
      ProviderVersion: '1.0',
      CreateIndex: index,
      ModifyIndex: index,
    });
  });

  it('VL-19: a plugin with a controller is asked first, without mount options', async () => {
    const cluster = operated();
    let known = false;
    cluster.machines.answers.set(VALIDATE, () => {
      known = cluster.state.tables.csi_volumes.has('default/data');
      return null;
    });
    const MountOptions = { FSType: 'ext4', MountFlags: ['noatime'] };
    const given = { Secrets: { key: 's' }, Parameters: { p: 'q' }, Context: { a: 'b' } };
    await register(cluster, aSpecification({ ...given, MountOptions }));
    expect(known).toBe(false);
    expect(cluster.machines.asked.map(({ request }) => request)).toEqual([
      {
        PluginID: 'disks',
        VolumeID: 'disk-1',
        VolumeCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'single-node-writer' }],
        Secrets: { key: 's' },
        Parameters: { p: 'q' },
        VolumeContext: { a: 'b' },
      },
    ]);
  });

  it('VL-19: what it refuses is not registered', async () => {
    const cluster = operated();
    cluster.machines.refusing(VALIDATE, 'CSI.ControllerValidateVolume: volume "disk-1" could not be found');
    await expect(register(cluster, aSpecification())).rejects.toThrow(
      'controller validate volume: CSI.ControllerValidateVolume: volume "disk-1" could not be found',
    );
    expect(cluster.state.tables.csi_volumes.size).toBe(0);
  });

  it('VL-21: a plugin without a controller is not asked', async () => {
    const cluster = withoutController();
    await register(cluster, aSpecification());
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-16: the first that fails keeps all others out, whatever was checked before', async () => {
    const cluster = operated();
    const two = [aSpecification({ ID: 'a' }), aSpecification({ ID: 'b', PluginID: 'nobody' })];
    await expect(register(cluster, ...two)).rejects.toThrow('no CSI plugin named: nobody could be found');
    expect(cluster.machines.asked).toEqual([]);
    cluster.machines.answers.set(VALIDATE, ({ request }) => {
      if (request['VolumeID'] === 'second') throw new Error('no');
      return null;
    });
    const disks = [aSpecification({ ID: 'a' }), aSpecification({ ID: 'b', ExternalID: 'second' })];
    await expect(register(cluster, ...disks)).rejects.toThrow('controller validate volume: no');
    expect(cluster.state.tables.csi_volumes.size).toBe(0);
  });

  it('VL-16: several are one transaction', async () => {
    const cluster = withoutController();
    await register(cluster, aSpecification({ ID: 'a' }), aSpecification({ ID: 'b' }));
    expect(registrations(cluster)).toHaveLength(1);
    expect(cluster.state.tables.csi_volumes.size).toBe(2);
  });
});

describe('a volume is registered again', () => {
  it('VL-23: CreateIndex stays, ModifyIndex moves, and no plugin is asked', async () => {
    const cluster = operated();
    const first = await register(cluster, aSpecification());
    cluster.machines.asked.length = 0;
    const again = await cluster.term.register.registerVolumes([aSpecification()], {});
    expect(cluster.stored()).toMatchObject({ CreateIndex: first, ModifyIndex: again });
    expect(again).toBeGreaterThan(first);
    expect(cluster.machines.asked).toEqual([]);
  });

  it('API-221, VL-26, VL-27: what cannot change is refused in one list', async () => {
    const cluster = withoutController();
    await register(cluster, aSpecification());
    const other = aSpecification({ Name: 'other', ExternalID: 'other' });
    await expect(register(cluster, other)).rejects.toThrow(
      'unable to update volume: 2 errors occurred:\n\t* volume name cannot be updated\n\t* volume external ID cannot be updated\n\n',
    );
    expect(registrations(cluster)).toHaveLength(1);
  });

  it('VL-26, VL-33: what is left out stays, and what the server keeps is not asked for', async () => {
    const cluster = withoutController();
    await register(cluster, aSpecification({ Context: { kind: 'dir' }, Parameters: { a: 'b' }, Secrets: { k: 'v' } }));
    await register(cluster, aSpecification({ Name: '', ExternalID: '', Context: {}, Secrets: null, Capacity: 99 }));
    expect(cluster.stored()).toMatchObject({
      Name: 'data',
      ExternalID: 'disk-1',
      Context: { kind: 'dir' },
      Parameters: { a: 'b' },
      Secrets: null,
      Capacity: 0,
    });
  });

  it('VL-34: an unknown plugin is the error, not the change of the plugin', async () => {
    const cluster = withoutController();
    await register(cluster, aSpecification());
    await expect(register(cluster, aSpecification({ PluginID: 'nobody' }))).rejects.toThrow(
      /^no CSI plugin named: nobody could be found$/,
    );
  });
});

describe('a volume is made larger', () => {
  const sized = (min: number, max: number, over: Partial<CSIVolumeSpecification> = {}): CSIVolumeSpecification =>
    aSpecification({ RequestedCapacityMin: min, RequestedCapacityMax: max, ...over });
  const expanding = async (lacking: 'SupportsExpand'[] = []): Promise<VolumesCluster> => {
    const cluster = operated({ lacking });
    await register(cluster, sized(0, 0, { Capacity: 1_000 }));
    cluster.machines.answers.set(EXPAND, ({ request }) => ({
      CapacityBytes: request['CapacityMin'],
      NodeExpansionRequired: false,
    }));
    cluster.machines.asked.length = 0;
    return cluster;
  };

  it('VL-46, VL-50: by its plugin only where it must grow, and never smaller', async () => {
    const cluster = await expanding();
    const seen = async (min: number, max: number): Promise<unknown[]> => {
      await register(cluster, sized(min, max));
      const { Capacity, RequestedCapacityMin, RequestedCapacityMax } = cluster.stored();
      return [Capacity, RequestedCapacityMin, RequestedCapacityMax, cluster.machines.asked.length];
    };
    expect(await seen(1_000, 2_000)).toEqual([1_000, 1_000, 2_000, 0]);
    expect(await seen(0, 0)).toEqual([1_000, 1_000, 2_000, 0]);
    expect(await seen(1_500, 2_000)).toEqual([1_500, 1_500, 2_000, 1]);
    expect(await seen(500, 2_000)).toEqual([1_500, 500, 2_000, 1]);
    expect(await seen(500, 5_000)).toEqual([1_500, 500, 5_000, 1]);
    await expect(register(cluster, sized(3, 2))).rejects.toThrow(
      'unable to update volume: max requested capacity (2 B) less than or equal to min (3 B)',
    );
    await expect(register(cluster, sized(0, 2))).rejects.toThrow(
      'unable to update volume: max requested capacity (2 B) less than or equal to current (1.5 kB)',
    );
  });

  it('VL-47: by its remote ID; a plugin that cannot, or fails, changes nothing', async () => {
    const cluster = await expanding();
    await register(cluster, sized(2_000, 0, { Secrets: { k: 'v' } }));
    expect(cluster.machines.asked[0]?.request).toMatchObject({
      ExternalVolumeID: 'disk-1',
      CapacityMin: 2_000,
      CapacityMax: 0,
      VolumeCapability: null,
      Secrets: { k: 'v' },
    });
    cluster.machines.refusing(EXPAND, 'CSI.ControllerExpandVolume: no room');
    await expect(register(cluster, sized(3_000, 0))).rejects.toThrow(
      'unable to update volume: unable to expand volume: controller expand volume: CSI.ControllerExpandVolume: no room',
    );
    expect(cluster.stored()).toMatchObject({ Capacity: 2_000, RequestedCapacityMin: 2_000 });
    await expect(register(await expanding(['SupportsExpand']), sized(2_000, 0))).rejects.toThrow(
      'unable to update volume: expand is not implemented by this controller plugin',
    );
  });

  it('VL-48, VL-49: also while it is claimed, and then on the machines of its claims', async () => {
    const cluster = await expanding();
    cluster.claimed('a', 'm');
    cluster.machines.answers.set(EXPAND, () => ({ CapacityBytes: 2_000, NodeExpansionRequired: true }));
    await register(cluster, sized(2_000, 0));
    expect(cluster.machines.calls).toEqual(['ControllerExpandVolume', 'NodeExpandVolume']);
    expect(cluster.machines.asked[0]?.request).toMatchObject({
      VolumeCapability: { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' },
    });
    expect(cluster.machines.asked[1]).toMatchObject({
      nodeId: 'm',
      request: { VolumeID: 'data', ExternalID: 'disk-1', Claim: { AllocationID: 'a' }, CapacityMin: 2_000 },
    });
    expect(Object.keys(cluster.stored().WriteClaims)).toEqual(['a']);
  });

  it('VL-49, VL-51: a machine that fails is the answer, and what the provider did is written down', async () => {
    const cluster = await expanding();
    cluster.claimed('a', 'm');
    cluster.machines.answers.set(EXPAND, () => ({ CapacityBytes: 2_000, NodeExpansionRequired: true }));
    cluster.machines.unreachable('agent.csiNodeExpandVolume');
    await expect(register(cluster, sized(2_000, 0))).rejects.toThrow(
      'unable to update volume: 1 error occurred:\n\t* CSI.NodeExpandVolume error: No path to node\n\n',
    );
    expect(cluster.stored()).toMatchObject({ Capacity: 2_000, RequestedCapacityMin: 0 });
  });

  it('VL-51: asked again, the machine is asked again, until it has seen the size', async () => {
    const cluster = await expanding();
    cluster.claimed('a', 'm');
    cluster.machines.answers.set(EXPAND, () => ({ CapacityBytes: 2_000, NodeExpansionRequired: true }));
    cluster.machines.unreachable('agent.csiNodeExpandVolume');
    for (const calls of [['ControllerExpandVolume', 'NodeExpandVolume'], ['NodeExpandVolume']]) {
      await expect(register(cluster, sized(2_000, 0))).rejects.toThrow('No path to node');
      expect(cluster.machines.calls).toEqual(calls);
      cluster.machines.asked.splice(0);
    }
    cluster.machines.answers.clear();
    await register(cluster, sized(2_000, 0));
    expect(cluster.machines.calls).toEqual(['NodeExpandVolume']);
    expect(cluster.stored()).toMatchObject({ Capacity: 2_000, RequestedCapacityMin: 2_000 });
    await register(cluster, sized(2_000, 0));
    expect(cluster.machines.calls).toHaveLength(1);
  });

  it('VL-51: also when another volume of the request fails', async () => {
    const cluster = await expanding();
    cluster.machines.refusing(VALIDATE, 'no');
    await expect(register(cluster, sized(2_000, 0), aSpecification({ ID: 'other' }))).rejects.toThrow(
      'controller validate volume: no',
    );
    expect(cluster.stored()).toMatchObject({ Capacity: 2_000 });
    expect(cluster.state.tables.csi_volumes.has('default/other')).toBe(false);
  });
});
