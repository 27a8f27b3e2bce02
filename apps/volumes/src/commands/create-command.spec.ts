import { type CSIVolumeSpecification, NotHolderError } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aRequest, aSpecification, operated, withoutController } from './operator-commands.fixture.js';
import type { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

const CREATE = 'agent.csiControllerCreateVolume';
const MADE = {
  ExternalVolumeID: 'made-1',
  CapacityBytes: 2_048,
  VolumeContext: { kind: 'dir' },
  CloneID: '',
  SnapshotID: '',
  Topologies: [{ Segments: { rack: 'R1' } }],
};

const create = (cluster: VolumesCluster, ...volumes: CSIVolumeSpecification[]): Promise<number> =>
  cluster.term.create.createVolumes(volumes, aRequest());
const wanted = (over: Partial<CSIVolumeSpecification> = {}) => aSpecification({ ExternalID: '', ...over });
function creating(): VolumesCluster {
  const cluster = operated();
  cluster.machines.answers.set(CREATE, () => MADE);
  return cluster;
}

describe('a volume is created', () => {
  it('API-224, VL-35: only by a controller that can', async () => {
    await expect(create(withoutController(), wanted())).rejects.toThrow('plugin has no controller');
    const unable = operated({ lacking: ['SupportsCreateDelete'] });
    await expect(create(unable, wanted())).rejects.toThrow('plugin does not support creating volumes');
    expect(unable.machines.asked).toEqual([]);
  });

  it('VL-36: the plugin is told all that is wanted', async () => {
    const cluster = creating();
    const topologies = { Required: [{ Segments: { rack: 'R1' } }], Preferred: null };
    const given = {
      Name: 'db',
      MountOptions: { FSType: 'ext4', MountFlags: ['noatime'] },
      Parameters: { p: 'q' },
      Secrets: { k: 'v' },
      RequestedCapacityMin: 1_000,
      RequestedCapacityMax: 3_000,
      SnapshotID: 'snap',
      RequestedTopologies: topologies,
    };
    await create(cluster, wanted(given));
    const { RequestedCapacityMin: CapacityMin, RequestedCapacityMax: CapacityMax, ...same } = given;
    expect(cluster.machines.asked.map(({ request }) => request)).toEqual([
      {
        ...same,
        PluginID: 'disks',
        VolumeCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'single-node-writer' }],
        CapacityMin,
        CapacityMax,
        CloneID: '',
      },
    ]);
  });

  it('API-224, VL-37, VL-38: and registered as the plugin says that it is', async () => {
    const cluster = creating();
    await create(cluster, wanted({ Context: { mine: 'too' }, Capacity: 1 }));
    expect(cluster.stored()).toMatchObject({ ExternalID: 'made-1', Capacity: 2_048, Context: { kind: 'dir' } });
    expect(cluster.stored().Context).toEqual({ kind: 'dir' });
    expect(cluster.stored().Topologies).toEqual([{ Segments: { rack: 'R1' } }]);
  });

  it('VL-39: one that exists is updated and grows, and nothing is created', async () => {
    const cluster = creating();
    await create(cluster, wanted());
    cluster.machines.asked.length = 0;
    cluster.machines.answers.set('agent.csiControllerExpandVolume', () => ({
      CapacityBytes: 4_096,
      NodeExpansionRequired: false,
    }));
    await cluster.term.create.createVolumes([wanted({ RequestedCapacityMin: 4_000 })], {});
    expect(cluster.machines.calls).toEqual(['ControllerExpandVolume']);
    expect(cluster.stored()).toMatchObject({ ExternalID: 'made-1', Capacity: 4_096, Context: { kind: 'dir' } });
  });

  it('VL-40: all are attempted, what succeeded stays, and the errors come together', async () => {
    const cluster = creating();
    await create(cluster, wanted({ ID: 'old', Name: 'old' }));
    cluster.machines.answers.set(CREATE, ({ request }) => {
      if (request['Name'] === 'bad') throw new Error('no room');
      return { ...MADE, ExternalVolumeID: `made-${String(request['Name'])}` };
    });
    const three = [wanted({ Name: 'bad' }), wanted({ ID: 'old', Name: 'renamed' }), wanted({ ID: 'b', Name: 'good' })];
    await expect(cluster.term.create.createVolumes(three, {})).rejects.toThrow(
      '2 errors occurred:\n\t* controller create volume: no room\n\t* 1 error occurred:\n\t* volume name cannot be updated\n\n\n\n',
    );
    expect(cluster.stored('b')).toMatchObject({ ExternalID: 'made-good' });
    expect(cluster.state.tables.csi_volumes.has('default/data')).toBe(false);
  });

  it('VL-42: a disk that could not be registered is named, so that somebody can', async () => {
    const cluster = operated();
    cluster.machines.answers.set(CREATE, () => {
      cluster.write('NamespaceDelete', { Names: ['apps'] }); // while the provider works
      return MADE;
    });
    cluster.write('NamespaceUpsert', {
      Namespaces: [{ ...cluster.state.tables.namespaces.get('default')!, Name: 'apps' }],
    });
    await expect(create(cluster, wanted({ Namespace: 'apps' }))).rejects.toThrow(
      'volume "data" exists as external volume "made-1" but was not registered: volume data is in nonexistent namespace apps',
    );
  });

  it('VL-12: a namespace that does not exist is found out before a disk is made', async () => {
    const cluster = creating();
    await expect(create(cluster, wanted({ Namespace: 'gone' }))).rejects.toThrow(
      'volume data is in nonexistent namespace gone',
    );
    expect(cluster.machines.asked).toEqual([]);
  });

  it('VL-41, VL-303, CW-17: one whose term ends meanwhile writes nothing; asked again, the next holder registers the same disk', async () => {
    const cluster = operated();
    cluster.machines.answers.set(CREATE, () => {
      cluster.follow();
      return MADE;
    });
    await expect(create(cluster, wanted())).rejects.toBeInstanceOf(NotHolderError);
    expect(cluster.state.tables.csi_volumes.size).toBe(0);
    cluster.machines.answers.set(CREATE, () => MADE);
    cluster.lead();
    await create(cluster, wanted());
    expect(cluster.stored()).toMatchObject({ ExternalID: 'made-1' });
  });

  it('VL-39: two at once for one ID make one disk', async () => {
    const cluster = creating();
    await Promise.all([create(cluster, wanted()), cluster.term.create.createVolumes([wanted()], {})]);
    expect(cluster.machines.calls).toEqual(['ControllerCreateVolume']);
  });
});
