import type { HostVolumeOnNode } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { LocalNode } from '../../machine/node/local-node.js';
import { HostVolumeRefusal } from './host-volume-plugin.js';
import { type HostVolumeRecord, HostVolumes } from './host-volumes.js';

const { uuid } = fixtures;
const STATIC = { certs: { Name: 'certs', Path: '/certs', ReadOnly: true, ID: '' } };

function aVolume(over: Partial<HostVolumeOnNode> = {}): HostVolumeOnNode {
  return {
    Namespace: 'default',
    ID: uuid(1),
    Name: 'data',
    PluginID: 'made',
    NodePool: 'default',
    NodeID: uuid(0xa),
    RequestedCapacityMinBytes: 0,
    RequestedCapacityMaxBytes: 0,
    Parameters: null,
    HostPath: '',
    ...over,
  };
}

/** Makes a machine with one plugin that records its calls. It is starting, as it is after `again`. */
function machine(disk: HostVolumeRecord[] = []) {
  const node = new LocalNode({ ...fixtures.aNode(), HostVolumes: STATIC });
  let reports = 0;
  node.onChange(() => reports++);
  const asked: string[] = [];
  const paths = new Set(['/srv']);
  const directories = new Set<string>();
  const plugin = {
    version: '1',
    refuses: false,
    create: async ({ ID }: HostVolumeOnNode) => {
      asked.push(`create ${ID}`);
      if (plugin.refuses) throw new HostVolumeRefusal('full');
      await new Promise((resolve) => setImmediate(resolve));
      directories.add(ID);
      return { HostPath: `/made/${ID}`, CapacityBytes: 5 };
    },
    delete: async ({ ID }: HostVolumeOnNode) => {
      asked.push(`delete ${ID}`);
      directories.delete(ID);
    },
  };
  const load = async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    return [...disk];
  };
  const save = async (all: readonly HostVolumeRecord[]) => void disk.splice(0, disk.length, ...all);
  const volumes = new HostVolumes({
    node,
    plugins: new Map([['made', plugin]]),
    records: { load, save },
    exists: async (path) => paths.has(path),
    logger: silentLogger,
  });
  const started = volumes.start();
  const shown = () => node.current.HostVolumes;
  return {
    volumes,
    shown,
    asked,
    directories,
    plugin,
    paths,
    disk,
    reports: () => reports,
    started,
    again: () => machine(disk),
  };
}

describe('host volumes of a machine', () => {
  it('VL-289: one that was made is on disk and in the report, beside those of the configuration', async () => {
    const { volumes, shown, disk, reports, started } = machine();
    await started;
    expect(reports()).toBe(0);
    expect(await volumes.create(aVolume())).toEqual({ HostPath: `/made/${uuid(1)}`, CapacityBytes: 5 });
    expect(shown()).toEqual({
      ...STATIC,
      data: { ID: uuid(1), Name: 'data', Path: `/made/${uuid(1)}`, ReadOnly: false },
    });
    expect(disk).toMatchObject([{ volume: { HostPath: `/made/${uuid(1)}` }, isRegistered: false }]);
    expect(reports()).toBe(1);
  });

  it('VL-290: two of one name are refused, also of the configuration and while the first is made', async () => {
    const { volumes, asked } = machine();
    const error = 'volume name already exists on this node';
    await expect(volumes.create(aVolume({ Name: 'certs' }))).rejects.toThrow(error);
    const first = volumes.create(aVolume());
    await expect(volumes.create(aVolume({ ID: uuid(2) }))).rejects.toThrow(error);
    await first;
    await expect(volumes.register(aVolume({ ID: uuid(2), HostPath: '/srv' }))).rejects.toThrow(error);
    await volumes.create(aVolume());
    expect(asked).toEqual([`create ${uuid(1)}`, `create ${uuid(1)}`]);
  });

  it('two that are made at once are both kept', async () => {
    const { volumes, disk, shown } = machine();
    await Promise.all([volumes.create(aVolume()), volumes.create(aVolume({ ID: uuid(2), Name: 'other' }))]);
    expect(disk).toHaveLength(2);
    expect(Object.keys(shown())).toEqual(['certs', 'data', 'other']);
  });

  it('VL-295: a plugin that is not here, and an ID that is none, are refused before anything is done', async () => {
    const { volumes, asked } = machine();
    await expect(volumes.create(aVolume({ PluginID: '../made' }))).rejects.toThrow('no such plugin "../made"');
    await expect(volumes.create(aVolume({ ID: '../../etc' }))).rejects.toThrow('invalid ID "../../etc"');
    await expect(volumes.delete(aVolume({ ID: '..' }))).rejects.toThrow('invalid ID ".."');
    expect(asked).toEqual([]);
  });

  it('VL-291: a registered one has to be there', async () => {
    const { volumes, shown, asked } = machine();
    await expect(volumes.register(aVolume({ HostPath: '/gone' }))).rejects.toThrow('there is no /gone on this node');
    await volumes.register(aVolume({ HostPath: '/srv', PluginID: '' }));
    expect(shown()['data']).toMatchObject({ Path: '/srv', ID: uuid(1) });
    expect(asked).toEqual([]);
  });

  it('VL-305: without a plugin only the record goes; with one it is asked, for a registered volume too', async () => {
    const { volumes, shown, asked, disk } = machine();
    await volumes.register(aVolume({ HostPath: '/srv', PluginID: '' }));
    await volumes.delete(aVolume({ HostPath: '/srv', PluginID: '' }));
    expect([asked, disk, shown()]).toEqual([[], [], STATIC]);
    await volumes.register(aVolume({ HostPath: '/srv' }));
    await volumes.delete(aVolume({ HostPath: '/srv' }));
    expect([asked, disk, shown()]).toEqual([[`delete ${uuid(1)}`], [], STATIC]);
  });

  it('VL-292: what is not here is deleted with success: a lost answer is asked for again', async () => {
    const { volumes, reports } = machine();
    await volumes.delete(aVolume());
    expect(reports()).toBe(0);
  });

  it('VL-297: after a restart plugins are asked again, and registered ones looked for; what fails is not reported', async () => {
    const before = machine();
    await before.volumes.create(aVolume());
    await before.volumes.register(aVolume({ ID: uuid(2), Name: 'srv', HostPath: '/srv', PluginID: '' }));
    const after = before.again();
    await after.started;
    expect(after.asked).toEqual([`create ${uuid(1)}`]);
    expect(after.shown()).toEqual(before.shown());
    const later = before.again();
    later.plugin.refuses = true;
    later.paths.clear();
    await later.started;
    expect(later.shown()).toEqual(STATIC);
    expect(later.disk).toHaveLength(2);
    await expect(later.volumes.create(aVolume({ ID: uuid(3) }))).rejects.toThrow('volume name already exists');
    later.plugin.refuses = false;
    await later.volumes.create(aVolume());
    expect(later.shown()['data']?.ID).toBe(uuid(1));
  });

  it('VL-290, VL-297: one that is deleted while the machine starts is not made again', async () => {
    const before = machine();
    await before.volumes.create(aVolume());
    const { volumes, directories, shown, disk, started } = before.again();
    await volumes.delete(aVolume());
    await started;
    expect([[...directories], shown(), disk]).toEqual([[], STATIC, []]);
  });

  it('one that is made while the machine starts takes no other out of the records', async () => {
    const before = machine();
    await before.volumes.create(aVolume());
    const { volumes, disk } = before.again();
    await volumes.create(aVolume({ ID: uuid(2), Name: 'other' }));
    expect(disk.map(({ volume }) => volume.ID)).toEqual([uuid(1), uuid(2)]);
  });

  it('one that cannot be written down is taken back; one that the servers know to be made is not: it may hold data', async () => {
    const at = machine();
    const failing = new HostVolumes({
      node: new LocalNode(fixtures.aNode()),
      plugins: new Map([['made', at.plugin]]),
      records: { load: async () => [], save: () => Promise.reject(new Error('disk full')) },
      exists: async () => true,
      logger: silentLogger,
    });
    await failing.start();
    await expect(failing.create(aVolume())).rejects.toThrow('disk full');
    expect(at.asked).toEqual([`create ${uuid(1)}`, `delete ${uuid(1)}`]);
    await expect(failing.create(aVolume({ HostPath: `/made/${uuid(1)}` }))).rejects.toThrow('disk full');
    expect(at.asked.slice(2)).toEqual([`create ${uuid(1)}`]);
  });
});
