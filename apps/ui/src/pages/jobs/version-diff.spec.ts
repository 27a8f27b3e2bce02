import { expect, it } from 'vitest';
import type { JobDiff } from '../../api/contract.js';
import { changesOf } from './version-diff.js';

const field = (Name: string, Old: string, New: string, Type = 'Edited') => ({
  Name,
  Old,
  New,
  Type,
  Annotations: null,
});

it('names each changed value with its place, and leaves out who wrote the version', () => {
  const task = {
    Name: 'server',
    Type: 'Edited',
    Annotations: null,
    Fields: null,
    Objects: [{ Name: 'Resources', Type: 'Edited', Fields: [field('MemoryMB', '256', '512')], Objects: null }],
  };
  const group = (Name: string, Type: string, Tasks: object[] | null) => ({
    Name,
    Type,
    Tasks,
    Updates: null,
    Fields: null,
    Objects: null,
  });
  const diff = {
    ID: 'web',
    Type: 'Edited',
    Objects: null,
    Fields: [field('SubmitTime', '1', '2'), field('Priority', '50', '60'), field('Name', 'web', 'web', 'None')],
    TaskGroups: [group('api', 'Edited', [task]), group('old', 'Deleted', null), group('same', 'None', null)],
  } as unknown as JobDiff;
  expect(changesOf(diff)).toEqual([
    { path: ['Priority'], kind: 'changed', before: '50', after: '60' },
    { path: ['Group api', 'Task server', 'Resources', 'MemoryMB'], kind: 'changed', before: '256', after: '512' },
    { path: ['Group old'], kind: 'removed', before: '', after: '' },
  ]);
});
