import { describe, expect, it } from 'vitest';
import { decodeJob } from '../jobs/decode-job.js';
import type { TaskGroup } from '../jobs/task-group.js';
import { mountErrors, pluginErrors, validateVolumes } from './validate-volume.js';

interface Input {
  readonly volume?: object;
  readonly group?: object;
  readonly task?: object;
}

function groupOf({ volume, group, task }: Input): TaskGroup {
  const tasks = [{ Name: 'main', Driver: 'raw_exec', ...task }];
  const Volumes = { data: { Type: 'csi', ...volume } };
  const [decoded] = decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks: tasks, Volumes, ...group }] }).TaskGroups;
  if (!decoded) throw new Error('no group');
  return decoded;
}

const errorsOf = (volume: object, group: object = {}, type = 'service'): string[] =>
  validateVolumes(groupOf({ volume, group }), type);
const only = (error: string) => [`Task group volume validation for data failed: 1 error occurred:\n\t* ${error}\n\n`];

const CSI = { Type: 'csi', Source: 's', AttachmentMode: 'file-system', AccessMode: 'multi-node-multi-writer' };
const HOST = { Type: 'host', Source: 's' };

describe('volume requests', () => {
  it('VL-170: all that is wrong with one is said together; the type must be known', () => {
    const [error] = errorsOf({ ...CSI, Source: '', AttachmentMode: '', AccessMode: '' });
    expect(error).toContain(
      'Task group volume validation for data failed: 3 errors occurred:\n\t* volume has an empty source\n',
    );
    const group = groupOf({ volume: CSI });
    const Volumes = { data: { ...group.Volumes?.['data'], Type: 'nfs' } } as TaskGroup['Volumes'];
    expect(validateVolumes({ ...group, Volumes }, 'service')).toEqual(only('volume has unrecognized type nfs'));
  });

  it('VL-170: an unknown type sent over HTTP is dropped', () => {
    expect(errorsOf({ Type: 'nfs' })).toEqual([]);
  });

  it.each(['system', 'sysbatch'])('VL-171: per_alloc is not for %s jobs', (type) => {
    const error = 'volume cannot be per_alloc for system or sysbatch jobs';
    expect(errorsOf({ ...CSI, PerAlloc: true }, {}, type)).toEqual(only(error));
  });

  it('VL-171: per_alloc goes neither with canaries nor with sticky', () => {
    expect(errorsOf({ ...CSI, PerAlloc: true }, { Update: { Canary: 1 } })).toEqual(
      only('volume cannot be per_alloc when canaries are in use'),
    );
    expect(errorsOf({ ...HOST, PerAlloc: true, Sticky: true })).toEqual(
      only('volume cannot be per_alloc and sticky at the same time'),
    );
    expect(errorsOf({ ...CSI, PerAlloc: true })).toEqual([]);
  });

  it.each([
    [{ AttachmentMode: '' }, 'CSI volumes must have an attachment mode'],
    [{ AccessMode: '' }, 'CSI volumes must have an access mode'],
    [{ AttachmentMode: 'block-device', MountOptions: { FSType: 'ext4' } }, 'block devices cannot have mount options'],
  ])('VL-172: %j', (over, error) => {
    expect(errorsOf({ ...CSI, ...over })).toEqual(only(error));
  });

  const READER = 'volume with single-node-reader-only access mode allows only one reader';
  const EITHER = 'volume with single-node-writer access mode allows only one reader or writer';
  const WRITER = 'volume with multi-node-single-writer access mode allows only one writer';
  it.each([
    ['single-node-reader-only', true, 2, READER],
    ['single-node-reader-only', true, 1, ''],
    ['single-node-reader-only', false, 1, 'single-node-reader-only volumes must be read-only'],
    ['single-node-writer', false, 2, EITHER],
    ['single-node-writer', true, 2, EITHER],
    ['multi-node-single-writer', false, 2, WRITER],
    ['multi-node-single-writer', true, 2, ''],
    ['multi-node-reader-only', false, 1, 'multi-node-reader-only volumes must be read-only'],
    ['multi-node-reader-only', true, 5, ''],
    ['multi-node-multi-writer', false, 5, ''],
  ])('VL-173: %s, read-only %s, count %i: %j', (AccessMode, ReadOnly, Count, error) => {
    expect(errorsOf({ ...CSI, AccessMode, ReadOnly }, { Count })).toEqual(error === '' ? [] : only(error));
    if (Count > 1) expect(errorsOf({ ...CSI, AccessMode, ReadOnly, PerAlloc: true }, { Count })).toEqual([]);
  });

  it.each([
    [{ MountOptions: {} }, 'host volumes cannot have mount options'],
    [{ AccessMode: 'single-node-reader-only' }, 'single-node-reader-only volumes must be read-only'],
    [
      { AccessMode: 'multi-node-multi-writer' },
      'host volumes cannot be mounted with multi-node-multi-writer access mode',
    ],
    [{ AccessMode: 'single-node-multi-writer' }, ''],
    [{ AccessMode: 'single-node-single-writer' }, ''],
    [{}, ''],
  ])('VL-174: a host volume with %j', (over, error) => {
    expect(errorsOf({ ...HOST, ...over })).toEqual(error === '' ? [] : only(error));
  });
});

describe('volume mounts and plugin blocks', () => {
  it.each([
    [{ Volume: 'data' }, []],
    [{ Volume: 'data', SELinuxLabel: 'Z', PropagationMode: 'bidirectional' }, []],
    [{ Volume: 'other' }, ['Volume Mount (0) references undefined volume other']],
    [{}, ['Volume Mount (0) is invalid: "volume mount references an empty volume"']],
    [
      { Volume: 'data', PropagationMode: 'shared' },
      ['Volume Mount (0) is invalid: "volume mount has an invalid propagation mode: "shared""'],
    ],
    [
      { Volume: 'data', SELinuxLabel: 'x' },
      ['Volume Mount (0) is invalid: "volume mount has an invalid SELinux label: "x""'],
    ],
  ])('VL-175: %j', (mount, errors) => {
    const group = groupOf({ volume: CSI, task: { VolumeMounts: [mount] } });
    expect(group.Tasks.flatMap((task) => mountErrors(task, group))).toEqual(errors);
  });

  const inside = (stage: string, mount: string) => [
    `CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir, got: StagePublishBaseDir="${stage}" MountDir="${mount}"`,
  ];
  it.each([
    [{ ID: 'p', Type: 'monolith' }, []],
    [{ Type: 'node' }, ['CSIPluginConfig must have a non-empty PluginID']],
    [
      { ID: 'p', Type: 'x' },
      [`CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith', got: "x"`],
    ],
    [{ ID: 'p', Type: 'node', MountDir: '/csi', StagePublishBaseDir: '/csi-data' }, []],
    [{ ID: 'p', Type: 'node', MountDir: '/csi/', StagePublishBaseDir: '/csi/stage' }, inside('/csi/stage', '/csi/')],
    [{ ID: 'p', Type: 'node', MountDir: '/csi', StagePublishBaseDir: '//csi/./x' }, inside('//csi/./x', '/csi')],
  ])('VL-176: %j', (CSIPluginConfig, errors) => {
    const group = groupOf({ volume: CSI, task: { CSIPluginConfig } });
    expect(group.Tasks.flatMap(pluginErrors)).toEqual(errors);
  });
});
