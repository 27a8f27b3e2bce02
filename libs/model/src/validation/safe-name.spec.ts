import { describe, expect, it } from 'vitest';
import { decodeJob } from '../jobs/decode-job.js';
import { validateVolume } from '../volumes/validate-csi-volume.js';
import { decodeVolumes } from '../volumes/csi-volume-shape.js';
import { fileNameProblem } from './safe-name.js';
import { validateJob } from './validate-job.js';

interface Given {
  readonly job?: object;
  readonly group?: object;
  readonly task?: object;
}

const errorsOf = ({ job, group, task }: Given): string => {
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', ...task }];
  return validateJob(decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks, ...group }], ...job })).errors.join(
    '\n',
  );
};

/** An escape sequence, a line break, a next line of C1, a mark that turns the text around, half a character. */
const CONTROLS = ['a\u001b[2Jb', 'a\nb', 'a\u0085b', 'gpj.\u202egnp', 'a\ud800b'];

describe('names that registration refuses', () => {
  it.each(['.', '..', 'alloc', '.incoming'])('API-340: a task cannot be named "%s"', (Name) => {
    expect(errorsOf({ task: { Name } })).toContain(`Task cannot be named "${Name}"`);
  });

  it.each(['../x', 'a/b', '/etc', String.raw`a\b`])('API-340: %j has slashes', (Name) => {
    expect(errorsOf({ task: { Name } })).toContain('Task name cannot include slashes');
  });

  it.each(CONTROLS)('%j is the name of nothing', (name) => {
    expect(errorsOf({ task: { Name: name } })).toContain('Task name cannot include control characters');
    expect(errorsOf({ group: { Name: name } })).toContain('Task group name contains control characters');
    expect(errorsOf({ job: { ID: name, Name: 'web' } })).toContain('Job ID contains a control character');
    expect(errorsOf({ job: { Name: name } })).toContain('Job Name contains a control character');
    expect(errorsOf({ task: { Env: { [name]: '' } } })).toContain('is no name');
    expect(errorsOf({ task: { Meta: { [name]: '' } } })).toContain('meta key');
    const Networks = [{ DynamicPorts: [{ Label: name }] }];
    expect(errorsOf({ group: { Networks } })).toContain('cannot include "=" or control characters');
  });

  it.each(['.', '..', 'a/..', '../a', 'a/./b'])('a job of the ID %j could not be asked for by its URL', (ID) => {
    expect(errorsOf({ job: { ID } })).toContain('Job ID cannot have "." or ".." as a part between slashes');
  });

  it.each([
    ['web', 'Web'],
    ['caf\u00e9', 'cafe\u0301'],
    ['stra\u00dfe', 'STRASSE'],
    ['fix', '\ufb01x'],
  ])('two tasks %j and %j of a group would share a directory on some file systems', (one, other) => {
    const Tasks = [one, other].map((Name) => ({ Name, Driver: 'raw_exec' }));
    expect(errorsOf({ group: { Tasks } })).toContain(`Task name '${other}' cannot be told from '${one}'`);
  });

  it.each(['', 'LD_PRELOAD=/x', 'A=B'])('an environment variable cannot be named %j', (name) => {
    expect(errorsOf({ task: { Env: { [name]: '' } } })).toContain('is no name');
  });

  it('a zero byte is part of no path and of no value', () => {
    const path = 'local/a\0b';
    expect(errorsOf({ task: { Templates: [{ DestPath: path, EmbeddedTmpl: 'x' }] } })).toContain('destination cannot');
    expect(errorsOf({ task: { Artifacts: [{ GetterSource: 'https://x', RelativeDest: path }] } })).toContain('cannot');
    expect(errorsOf({ task: { DispatchPayload: { File: path } } })).toContain('file cannot include null characters');
    expect(errorsOf({ task: { Env: { A: 'x\0y' } } })).toContain('includes a null character');
    expect(errorsOf({ task: { Meta: { a: 'x\0y' } } })).toContain('cannot include null characters');
  });

  it.each(['..', 'a/../b', 'a//b', '/a', 'a\nb'])('VL-307: %j is the ID of no plugin and of no volume', (ID) => {
    expect(errorsOf({ task: { CSIPluginConfig: { ID, Type: 'node' } } })).toContain('cannot be part of a path');
    const Volumes = { v: { Type: 'csi', Source: ID, AccessMode: 'x', AttachmentMode: 'file-system' } };
    expect(errorsOf({ group: { Volumes } })).toContain('cannot be part of a path');
    const [volume] = decodeVolumes({ Volumes: [{ ID, Name: 'v', PluginID: 'p' }] }, 'default');
    expect(volume && validateVolume(volume)).toContain('cannot be part of a path');
  });
});

describe('names that stay legal', () => {
  it.each(['web server', '-web', '...', '.web', 'a..b', '日本', "it's", 'a:b', 'a=b', 'a$b', '*', '~'])(
    'a task %j',
    (Name) => {
      expect(errorsOf({ task: { Name } })).toBe('');
    },
  );

  it.each(['backup/periodic-1', 'a/b/c', 'a%2Fb', 'a?b', '-x', '...', 'a..b', 'é', 'Web'])('a job %j', (ID) => {
    expect(errorsOf({ job: { ID } })).toBe('');
  });

  it.each(['a/b', 'web group', '-g', '...'])('a group %j', (Name) => {
    expect(errorsOf({ group: { Name } })).toBe('');
  });

  it('two groups of a job may have tasks of names that look alike: they never share an allocation', () => {
    const TaskGroups = ['web', 'Web'].map((Name) => ({ Name, Tasks: [{ Name, Driver: 'raw_exec' }] }));
    expect(errorsOf({ job: { TaskGroups } })).toBe('');
  });

  it('meta keys and variables of other characters', () => {
    expect(errorsOf({ task: { Meta: { 'my-key.x y=z': 'a\nb' }, Env: { 'report.format': 'a\nb', 'a b': '' } } })).toBe(
      '',
    );
  });
});

it.each([
  ['', 'cannot be ""'],
  ['..', 'cannot be ".."'],
  ['a/b', 'cannot include slashes'],
  ['a\0b', 'cannot include null characters'],
  ['a\nb', 'cannot include control characters'],
  ['é'.repeat(128), 'cannot be longer than 255 bytes, currently 256'],
  ['é'.repeat(127), undefined],
])('the name of one file: %j', (name, problem) => {
  expect(fileNameProblem(name)).toBe(problem);
});
