import { describe, expect, it } from 'vitest';
import { operated } from '../commands/operator-commands.fixture.js';
import type { VolumesCluster } from '../releases/volumes-cluster.fixture.js';

const CREATE = 'agent.csiControllerCreateSnapshot';
const TAKEN = {
  ID: 'snap-1',
  ExternalSourceVolumeID: 'disk-1',
  SizeBytes: 9,
  CreateTime: 1_700_000_000,
  IsReady: true,
};
const wanted = (over = {}) => ({
  SourceVolumeID: 'data',
  PluginID: '',
  Name: 'nightly',
  Secrets: null,
  Parameters: null,
  ...over,
});

function stored(lacking: ('SupportsCreateDeleteSnapshot' | 'SupportsListSnapshots' | 'SupportsListVolumes')[] = []) {
  const cluster = operated({ lacking });
  cluster.volume({ ControllerRequired: true, Secrets: { a: 'stored', b: 'stored' } });
  cluster.machines.answers.set(CREATE, () => TAKEN);
  return cluster;
}
const create = (cluster: VolumesCluster, ...snapshots: (ReturnType<typeof wanted> | null)[]) =>
  cluster.term.snapshots.create('default', snapshots);

describe('snapshots', () => {
  it('VL-196, VL-197: of the disk, with secrets of both; nothing is stored', async () => {
    const cluster = stored();
    const before = cluster.state.appliedIndex;
    const answer = await create(cluster, wanted({ Secrets: { b: 'given' }, Parameters: { p: 'q' } }));
    expect(answer).toEqual({ Snapshots: [{ ...TAKEN, SourceVolumeID: 'data', PluginID: 'disks' }], NextToken: '' });
    expect(cluster.machines.asked[0]?.request).toEqual({
      PluginID: 'disks',
      VolumeID: 'disk-1',
      Name: 'nightly',
      Secrets: { a: 'stored', b: 'given' },
      Parameters: { p: 'q' },
    });
    expect(cluster.stored().Secrets).toEqual({ a: 'stored', b: 'stored' });
    expect(cluster.state.appliedIndex).toBe(before);
  });

  it('CW-22: one that is not ready yet is asked for again, and the provider says how it is now', async () => {
    const cluster = stored();
    let asked = 0;
    cluster.machines.answers.set(CREATE, () => ({ ...TAKEN, IsReady: ++asked > 1 }));
    expect(await create(cluster, wanted())).toMatchObject({ Snapshots: [{ IsReady: false }] });
    expect(await create(cluster, wanted())).toMatchObject({ Snapshots: [{ ID: 'snap-1', IsReady: true }] });
    const [first, again] = cluster.machines.asked;
    expect(again?.request).toEqual(first?.request);
  });

  it('VL-195: of what there is not', async () => {
    const cluster = stored();
    const failing = [wanted({ SourceVolumeID: 'gone' }), wanted({ PluginID: 'nobody' }), wanted()];
    await expect(create(cluster, ...failing)).rejects.toThrow(
      '2 errors occurred:\n\t* no such volume "gone"\n\t* no such plugin "nobody"\n\n',
    );
    expect(cluster.machines.calls).toEqual(['ControllerCreateSnapshot']); // the others proceed
    await expect(create(stored(['SupportsCreateDeleteSnapshot']), wanted())).rejects.toThrow(
      'plugin "disks" does not support snapshot',
    );
    await expect(create(cluster, null)).rejects.toThrow(/^snapshot cannot be nil$/);
  });

  it('VL-195: a plugin that fails', async () => {
    const cluster = stored();
    cluster.machines.refusing(CREATE, 'CSI.ControllerCreateSnapshot: pending');
    await expect(create(cluster, wanted())).rejects.toThrow(
      'could not create snapshot: controller create snapshot: CSI.ControllerCreateSnapshot: pending',
    );
  });

  it('VL-198: deleted by the name that the provider gave them', async () => {
    const cluster = stored();
    const of = { SnapshotID: 'snap-1', Secrets: { k: 'v' } };
    await cluster.term.snapshots.delete({ PluginID: 'disks', ...of });
    expect(cluster.machines.asked[0]?.request).toEqual({ PluginID: 'disks', ID: 'snap-1', Secrets: { k: 'v' } });
    await expect(cluster.term.snapshots.delete({ PluginID: 'nobody', ...of })).rejects.toThrow(/^no such plugin$/);
    cluster.machines.refusing('agent.csiControllerDeleteSnapshot', 'in use');
    await expect(cluster.term.snapshots.delete({ PluginID: 'disks', ...of })).rejects.toThrow(
      'could not delete "snap-1": controller delete snapshot: in use',
    );
    const unable = stored(['SupportsCreateDeleteSnapshot']);
    await expect(unable.term.snapshots.delete({ PluginID: 'disks', ...of })).rejects.toThrow(
      /^plugin does not support snapshot$/,
    );
  });

  it('VL-199, CW-23: listed in the pages of the plugin', async () => {
    const cluster = stored();
    const page = { PluginID: 'disks', MaxEntries: 1, StartingToken: 't', Secrets: null };
    cluster.machines.answers.set('agent.csiControllerListSnapshots', () => ({ Entries: [TAKEN], NextToken: 'u' }));
    expect(await cluster.term.snapshots.list(page)).toEqual({
      Snapshots: [{ ...TAKEN, SourceVolumeID: '', PluginID: 'disks' }],
      NextToken: 'u',
    });
    expect(cluster.machines.asked[0]?.request).toEqual(page);
    await expect(cluster.term.snapshots.list({ ...page, PluginID: 'nobody' })).rejects.toThrow('no such plugin');
    await expect(stored(['SupportsListSnapshots']).term.snapshots.list(page)).rejects.toThrow(
      'plugin does not support listing snapshots',
    );
  });
});

describe('volumes of a provider', () => {
  it('VL-200: as it lists them, and no more than was asked for', async () => {
    const cluster = stored();
    const entries = ['a', 'b', 'c'].map((ExternalID) => ({ ExternalID }));
    cluster.machines.answers.set('agent.csiControllerListVolumes', () => ({ Entries: entries, NextToken: 'n' }));
    const page = { PluginID: 'disks', MaxEntries: 2, StartingToken: '' };
    expect(await cluster.term.external.list(page)).toEqual({ Volumes: entries.slice(0, 2), NextToken: 'n' });
    expect(await cluster.term.external.list({ ...page, MaxEntries: 0 })).toMatchObject({ Volumes: entries });
    await expect(cluster.term.external.list({ ...page, PluginID: 'nobody' })).rejects.toThrow('no such plugin');
    await expect(stored(['SupportsListVolumes']).term.external.list(page)).rejects.toThrow(
      'unimplemented for this plugin',
    );
  });
});
