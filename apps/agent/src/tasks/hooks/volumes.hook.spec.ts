import type { NodeHostVolume, VolumeMount, VolumeRequest } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { MountSupport } from '../../drivers/driver.js';
import { VolumesHook } from './volumes.hook.js';

const REQUEST: VolumeRequest = {
  Name: 'data',
  Type: 'host',
  Source: 'data',
  ReadOnly: false,
  Sticky: false,
  AccessMode: '',
  AttachmentMode: '',
  MountOptions: null,
  PerAlloc: false,
};
const MOUNT: VolumeMount = {
  Volume: 'data',
  Destination: '/srv',
  ReadOnly: false,
  PropagationMode: 'private',
  SELinuxLabel: '',
};

async function mounted(
  given: {
    request?: Partial<VolumeRequest>;
    mount?: Partial<VolumeMount>;
    volume?: Partial<NodeHostVolume>;
    support?: MountSupport;
    published?: string;
    others?: Record<string, VolumeRequest>;
  } = {},
) {
  const request = { ...REQUEST, ...given.request };
  const volume = { Name: 'data', Path: '/mnt/data', ReadOnly: false, ID: '', ...given.volume };
  const task = fixtures.aTask({ Name: 'web', Driver: 'raw_exec', VolumeMounts: [{ ...MOUNT, ...given.mount }] });
  const group = fixtures.aGroup({ Tasks: [task], Volumes: { data: request, ...given.others } }, 'service');
  const job = fixtures.aJob({ TaskGroups: [group] });
  const alloc = fixtures.anAlloc({
    Job: job,
    JobID: job.ID,
    TaskGroup: group.Name,
    Name: `${job.ID}.${group.Name}[3]`,
  });
  const interpolateInTask = (text: string) => text.replaceAll('${NOMAD_ALLOC_DIR}', '/alloc');
  const hook = new VolumesHook({
    node: () => ({ HostVolumes: { [volume.Name]: volume } }),
    mountSupport: () => given.support ?? 'link',
    mountOf: (allocId, alias) =>
      allocId === alloc.ID && alias === 'data' && given.published
        ? { Source: given.published, IsDevice: false }
        : undefined,
  });
  return (await hook.prestart({ alloc, job, task, interpolateInTask })).mounts;
}

describe('what a task finds of the volumes of its group', () => {
  it('VL-281: a host volume, where it wants it', async () => {
    expect(await mounted()).toEqual([
      { source: '/mnt/data', destination: '/srv', readOnly: false, propagation: 'private' },
    ]);
  });

  it('AG-234: where the task sees the directory that it names', async () => {
    expect(await mounted({ mount: { Destination: '${NOMAD_ALLOC_DIR}/volume0' } })).toMatchObject([
      { destination: '/alloc/volume0' },
    ]);
  });

  it('VL-175: a propagation that is none once it is replaced fails the task', async () => {
    const asked = mounted({ mount: { PropagationMode: '${NOMAD_ALLOC_DIR}' } });
    await expect(asked).rejects.toThrow('volume mount has an invalid propagation mode: "/alloc"');
  });

  it('VL-178, VL-179: with per_alloc that of its index', async () => {
    const given = { request: { PerAlloc: true }, volume: { Name: 'data[3]', Path: '/mnt/three' } };
    expect(await mounted(given)).toMatchObject([{ source: '/mnt/three' }]);
  });

  it.each([
    ['the machine', { volume: { ReadOnly: true } }],
    ['the group', { request: { ReadOnly: true } }],
    ['the task', { mount: { ReadOnly: true } }],
  ])('VL-281: read-only if %s says so', async (_, given) => {
    expect(await mounted(given)).toMatchObject([{ readOnly: true }]);
  });

  it('VL-281, AG-294: a volume that is not here fails the task, also one that another task mounts', async () => {
    const missing = mounted({ others: { logs: { ...REQUEST, Name: 'logs', Source: 'logs' } } });
    await expect(missing).rejects.toThrow(/^host volume validation error: 1 error occurred:\n\t\* missing logs/);
  });

  it('VL-281, VL-225: a driver without mounts says so', async () => {
    await expect(mounted({ support: 'none' })).rejects.toThrow(
      'task driver "raw_exec" for "web" does not support host volumes',
    );
    const csi = { request: { Type: 'csi' }, published: '/p' };
    await expect(mounted({ ...csi, support: 'none' })).rejects.toThrow(
      'task driver "raw_exec" for "web" does not support CSI',
    );
  });

  it('VL-225: a CSI volume is where it was published, read-only if the group or the task says so', async () => {
    const csi = { request: { Type: 'csi' }, published: '/csi/per-alloc/x' };
    expect(await mounted(csi)).toMatchObject([{ source: '/csi/per-alloc/x', destination: '/srv', readOnly: false }]);
    const readOnly = { ...csi, request: { Type: 'csi', ReadOnly: true } };
    expect(await mounted(readOnly)).toMatchObject([{ readOnly: true }]);
    expect(await mounted({ ...csi, mount: { ReadOnly: true } })).toMatchObject([{ readOnly: true }]);
    await expect(mounted({ request: { Type: 'csi' } })).rejects.toThrow('No CSI Mount Point found for volume: data');
  });
});
