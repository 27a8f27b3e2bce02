import { expect, it } from 'vitest';
import type { CSIVolListStub, HostVolumeStub } from '../../api/contract.js';
import { filteredVolumes, healthInWords, usersInWords, volumeRows } from './volume-list.js';

const csi = {
  ID: 'disk-1',
  Name: 'db',
  Namespace: 'prod',
  Schedulable: false,
  PluginID: 'ebs',
  CurrentReaders: 0,
  CurrentWriters: 1,
};
const host = {
  ID: 'h1',
  Name: 'cache',
  Namespace: 'default',
  State: 'ready',
  PluginID: 'mkdir',
  NodeID: 'n1',
  CapacityBytes: 0,
};
const rows = volumeRows([csi as CSIVolListStub], [host as HostVolumeStub]);

it('lists volumes of both kinds by name', () => {
  expect(rows).toMatchObject([
    { kind: 'host', name: 'cache', state: 'ready', node: 'n1', about: '—' },
    { kind: 'CSI', name: 'db', state: 'unschedulable', node: '', about: '1 writer' },
  ]);
});

it('finds volumes by kind, namespace, and a part of the name, the ID or the plugin', () => {
  const found = (filter: object) => filteredVolumes(rows, filter).map(({ name }) => name);
  expect(found({ kind: 'CSI' })).toEqual(['db']);
  expect(found({ namespace: 'default' })).toEqual(['cache']);
  expect(found({ search: 'EBS' })).toEqual(['db']);
  expect(found({ search: 'disk' })).toEqual(['db']);
});

it('says how many parts of a plugin work', () => {
  expect(healthInWords({ healthy: 1, expected: 2 })).toBe('1 of 2 healthy');
  expect(healthInWords({ healthy: 1, expected: 0 })).toBe('1 healthy');
});

it('says in words who uses a volume', () => {
  expect(usersInWords({ CurrentReaders: 2, CurrentWriters: 1 })).toBe('1 writer, 2 readers');
  expect(usersInWords({ CurrentReaders: 0, CurrentWriters: 0 })).toBe('not in use');
});
