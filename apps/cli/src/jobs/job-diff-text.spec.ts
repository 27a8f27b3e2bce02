import type { DiffType, FieldDiff, JobDiff, ObjectDiff, TaskGroupDiff } from '@waybill/model';
import { expect, it } from 'vitest';
import { JobDiffText } from './job-diff-text.js';

const plain = { coloured: (_: string, text: string) => text, bold: (text: string) => text };
const field = (Type: DiffType, Name: string, Old: string, New: string, ...Annotations: string[]): FieldDiff => ({
  Type,
  Name,
  Old,
  New,
  Annotations,
});
const object = (Type: DiffType, Name: string, Fields: FieldDiff[], Objects: ObjectDiff[] = []): ObjectDiff => ({
  Type,
  Name,
  Fields,
  Objects,
});
const group = (over: Partial<TaskGroupDiff>): TaskGroupDiff => ({
  Type: 'Edited',
  Name: 'web',
  Fields: [],
  Objects: [],
  Tasks: [],
  Updates: null,
  ...over,
});
const job = (over: Partial<JobDiff>): JobDiff => ({
  Type: 'Edited',
  ID: 'web',
  Fields: [],
  Objects: [],
  TaskGroups: [],
  ...over,
});
const text = (diff: JobDiff, verbose = false): string => new JobDiffText(plain, verbose).of(diff);
const task = { Name: 'app', Fields: [], Objects: [] };

it('CL-325 CL-326: the example of the reference', () => {
  const edited = group({
    Fields: [field('Edited', 'Count', '1', '3', 'forces create')],
    Tasks: [
      {
        ...task,
        Type: 'Edited',
        Objects: [object('Edited', 'Config', [field('Edited', 'image', 'app:1', 'app:2')])],
        Annotations: ['forces create/destroy update'],
      },
    ],
    Updates: { 'create/destroy update': 1, create: 2 },
  });
  expect(text(job({ TaskGroups: [edited] }))).toBe(
    [
      '+/- Job: "web"',
      '+/- Task Group: "web" (2 create, 1 create/destroy update)',
      '  +/- Count: "1" => "3" (forces create)',
      '  +/- Task: "app" (forces create/destroy update)',
      '    +/- Config {',
      '      +/- image: "app:1" => "app:2"',
      '        }',
    ].join('\n'),
  );
});

it('CL-324: names line up behind the longest marker of their level, values behind the longest name', () => {
  const fields = [
    field('Added', 'Foo', '', 'a'),
    field('Edited', 'Bar', 'a', 'b'),
    field('Deleted', 'Longer', 'x', ''),
    field('None', 'Same', 's', 's'),
  ];
  expect(text(job({ Fields: fields, Objects: [object('Added', 'Sub', [field('Added', 'k', '', 'v')])] }))).toBe(
    [
      '+/- Job: "web"',
      '+   Foo:    "a"',
      '+/- Bar:    "a" => "b"',
      '-   Longer: "x"',
      '    Same:   "s"',
      '+   Sub {',
      '    + k: "v"',
      '    }',
    ].join('\n'),
  );
});

it('CL-325: what is new or unchanged is expanded only by -verbose, groups have an empty line between', () => {
  const diff = job({
    Type: 'Added',
    Fields: [field('Added', 'Priority', '', '50')],
    TaskGroups: [
      group({
        Type: 'Added',
        Name: 'a',
        Fields: [field('Added', 'Count', '', '1', 'forces create')],
        Tasks: [
          { ...task, Type: 'Added', Fields: [field('Added', 'Driver', '', 'exec')], Annotations: ['forces create'] },
          { ...task, Type: 'None', Name: 'still', Annotations: [] },
        ],
        Updates: { create: 1 },
      }),
      group({ Type: 'None', Name: 'b', Updates: { ignore: 1 } }),
    ],
  });
  expect(text(diff)).toBe(
    [
      '+ Job: "web"',
      '+ Task Group: "a" (1 create)',
      '  + Task: "app" (forces create)',
      '    Task: "still"',
      '',
      '  Task Group: "b" (1 ignore)',
    ].join('\n'),
  );
  expect(text(diff, true).split('\n').slice(0, 7)).toEqual([
    '+ Job: "web"',
    '+ Priority: "50"',
    '+ Task Group: "a" (1 create)',
    '  + Count: "1" (forces create)',
    '  + Task: "app" (forces create)',
    '    + Driver: "exec"',
    '    Task: "still"',
  ]);
});

it('CL-147: values are quoted as in JSON', () => {
  expect(text(job({ Fields: [field('Added', 'a', '', 'x"\n')] }))).toContain('a: "x\\"\\n"');
});
