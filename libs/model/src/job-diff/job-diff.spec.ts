import { describe, expect, it } from 'vitest';
import { decodeJob } from '../jobs/decode-job.js';
import type { Job } from '../jobs/job.js';
import { specChanged } from '../jobs/specification-change.js';
import type { TaskGroup } from '../jobs/task-group.js';
import type { Task } from '../jobs/task.js';
import { annotateDiff } from './annotate-diff.js';
import type { JobDiff, TaskDiff } from './difference.js';
import { diffJobs } from './job-diff.js';

const service = { Name: 'web', PortLabel: 'http', Provider: 'nomad' };
const web: Job = decodeJob(
  {
    ID: 'web',
    Meta: { owner: 'a' },
    TaskGroups: [
      {
        Name: 'web',
        Count: 1,
        Services: [service],
        Constraints: [{ LTarget: 'a', RTarget: 'b', Operand: '=' }],
        Tasks: [{ Name: 'app', Driver: 'raw_exec', Config: { image: 'app:1', args: ['-v'] }, Env: { A: '1' } }],
      },
    ],
  },
  { region: 'global', submitTimeNs: 1 },
);

const withGroup = (over: Partial<TaskGroup>): Job => ({
  ...web,
  TaskGroups: web.TaskGroups.map((group) => ({ ...group, ...over })),
});
const app = web.TaskGroups[0]!.Tasks[0]!;
const withTask = (over: Partial<Task>): Job => withGroup({ Tasks: [{ ...app, ...over }] });
const groupOf = (diff: JobDiff) => diff.TaskGroups[0]!;
const taskOf = (diff: JobDiff): TaskDiff => groupOf(diff).Tasks[0]!;
const changed = (job: Job): JobDiff => diffJobs(web, job);

describe('diffJobs', () => {
  it('API-144: the type says whether the job is the same, new, gone or edited', () => {
    expect(changed(web)).toEqual({
      Type: 'None',
      ID: 'web',
      Fields: [],
      Objects: [],
      TaskGroups: [
        {
          Type: 'None',
          Name: 'web',
          Fields: [],
          Objects: [],
          Tasks: [{ Type: 'None', Name: 'app', Fields: [], Objects: [], Annotations: [] }],
          Updates: null,
        },
      ],
    });
    expect(diffJobs(null, web).Type).toBe('Added');
    expect(diffJobs(web, null).Type).toBe('Deleted');
    expect(changed({ ...web, Priority: 60 })).toMatchObject({
      Type: 'Edited',
      Fields: [{ Type: 'Edited', Name: 'Priority', Old: '50', New: '60' }],
    });
  });

  it.each<[string, Partial<Job>]>([
    ['ID', { ID: 'other' }],
    ['Status', { Status: 'dead' }],
    ['StatusDescription', { StatusDescription: 'x' }],
    ['Version', { Version: 9 }],
    ['Stable', { Stable: true }],
    ['indexes', { CreateIndex: 1, ModifyIndex: 2, JobModifyIndex: 3 }],
    ['SubmitTime', { SubmitTime: 9 }],
    ['NomadTokenID', { NomadTokenID: 'x' }],
    ['VersionTag', { VersionTag: { Name: 'x', Description: '', TaggedTime: 1 } }],
    ['Update', { Update: { ...web.Update, MaxParallel: 9 } }],
  ])('API-146: %s of a job is never part of a diff', (_, over) => {
    expect(changed({ ...web, ...over }).Type).toBe('None');
  });

  it('API-146: lists are sorted by name, objects of one name by type', () => {
    const constraint = (RTarget: string) => ({ LTarget: 'a', RTarget, Operand: '=' });
    const others = web.TaskGroups[0]!.Constraints!.filter(({ LTarget }) => LTarget !== 'a');
    const affinity = { LTarget: 'a', RTarget: 'b', Operand: '=', Weight: 50 };
    const group = groupOf(
      changed(
        withGroup({ Constraints: [...others, constraint('c')], Affinities: [affinity], Meta: { b: '1', a: '2' } }),
      ),
    );
    expect(group.Fields.map(({ Name }) => Name)).toEqual(['Meta[a]', 'Meta[b]']);
    expect(group.Objects.map(({ Name, Type }) => [Name, Type])).toEqual([
      ['Affinity', 'Added'],
      ['Constraint', 'Added'],
      ['Constraint', 'Deleted'],
    ]);
  });

  it('API-144: entries of maps are fields Meta[k], of free-form configuration fields at any depth', () => {
    expect(changed({ ...web, Meta: { owner: 'b', team: 'x' } }).Fields).toMatchObject([
      { Type: 'Edited', Name: 'Meta[owner]', Old: 'a', New: 'b' },
      { Type: 'Added', Name: 'Meta[team]', Old: '', New: 'x' },
    ]);
    const Config = { image: 'app:2', ports: [{ db: 1 }] };
    expect(taskOf(changed(withTask({ Config, Env: null })))).toMatchObject({
      Type: 'Edited',
      Fields: [{ Type: 'Deleted', Name: 'Env[A]', Old: '1', New: '' }],
      Objects: [
        {
          Type: 'Edited',
          Name: 'Config',
          Fields: [
            { Type: 'Deleted', Name: 'args[0]', Old: '-v' },
            { Type: 'Edited', Name: 'image', Old: 'app:1', New: 'app:2' },
            { Type: 'Added', Name: 'ports[0][db]', New: '1' },
          ],
        },
      ],
    });
  });

  it('an edited object shows what stayed the same around the change', () => {
    const { Objects } = taskOf(changed(withTask({ Resources: { ...app.Resources, MemoryMB: 512 } })));
    expect(Objects).toHaveLength(1);
    expect(Objects[0]).toMatchObject({ Type: 'Edited', Name: 'Resources' });
    expect(Objects[0]!.Fields).toContainEqual({ Type: 'None', Name: 'CPU', Old: '100', New: '100', Annotations: [] });
    expect(Objects[0]!.Fields).toContainEqual({
      Type: 'Edited',
      Name: 'MemoryMB',
      Old: '300',
      New: '512',
      Annotations: [],
    });
  });

  it('lists of plain values are sets, services are known by their names, also two of one name', () => {
    expect(changed({ ...web, Datacenters: ['*', 'dc1'] }).Objects).toMatchObject([
      {
        Name: 'Datacenters',
        Type: 'Added',
        Fields: [
          { Type: 'Added', Name: 'Datacenters', Old: '', New: 'dc1' },
          { Type: 'None', Name: 'Datacenters', New: '*' },
        ],
      },
    ]);
    const of = (before: string[], after: string[]) =>
      diffJobs({ ...web, Datacenters: before }, { ...web, Datacenters: after }).Objects.map(({ Type, Fields }) => [
        Type,
        Fields.map((field) => `${field.Old}>${field.New}`),
      ]);
    expect(of(['a', 'b'], ['b'])).toEqual([['Deleted', ['a>', 'b>b']]]);
    expect(of(['a', 'b'], ['b', 'd', 'c'])).toEqual([['Edited', ['>c', '>d', 'a>', 'b>b']]]);
    expect(of(['a', 'b'], ['b', 'a'])).toEqual([]);
    const [first] = web.TaskGroups[0]!.Services!;
    const second = { ...first!, PortLabel: 'admin' };
    const two = withGroup({ Services: [first!, second] });
    expect(groupOf(changed(two)).Objects).toMatchObject([{ Name: 'Service', Type: 'Added' }]);
    const edited = withGroup({ Services: [first!, { ...second, PortLabel: 'b' }] });
    expect(groupOf(diffJobs(two, edited)).Objects).toMatchObject([{ Name: 'Service', Type: 'Edited' }]);
  });

  it('groups and tasks that come or go carry all they say; a stopped job that starts again is edited', () => {
    const other = { ...web.TaskGroups[0]!, Name: 'api' };
    const diff = changed({ ...web, TaskGroups: [other, ...web.TaskGroups] });
    expect(diff.TaskGroups.map(({ Name, Type }) => [Name, Type])).toEqual([
      ['api', 'Added'],
      ['web', 'None'],
    ]);
    expect(groupOf(diff).Fields).toContainEqual({ Type: 'Added', Name: 'Count', Old: '', New: '1', Annotations: [] });
    expect(groupOf(diff).Fields.map(({ Name }) => Name)).not.toContain('PreventRescheduleOnLost'); // API-314
    expect(diffJobs({ ...web, Stop: true }, web).Fields).toMatchObject([{ Name: 'Stop', Old: 'true', New: 'false' }]);
  });

  it('API-106: whatever makes a new version shows in the diff, and nothing else does', () => {
    const edits: Job[] = [
      web,
      { ...web, Priority: 1 },
      { ...web, Version: 3, Stable: true },
      withGroup({ ShutdownDelay: 1 }),
      withGroup({ Update: null }),
      withTask({ Actions: [{ Name: 'a', Command: 'b', Args: ['c'] }] }),
      withTask({ Identity: { ...app.Identity!, File: true } }),
      withTask({ KillTimeout: 1 }),
    ];
    const scaled = (ID: string, Max: number) => withGroup({ Scaling: policy(ID, Max) });
    for (const edit of edits) expect(changed(edit).Type !== 'None').toBe(specChanged(web, edit));
    expect(diffJobs(scaled('a', 3), scaled('b', 3)).Type).toBe('None');
    expect(diffJobs(scaled('a', 3), scaled('a', 4)).Type).toBe('Edited');
  });
});

const policy = (ID: string, Max: number) => ({
  ID,
  Type: 'horizontal',
  Target: null,
  Policy: { cooldown: '1m' },
  Min: 1,
  Max,
  Enabled: true,
  CreateIndex: 0,
  ModifyIndex: 0,
});

const none = {
  Ignore: 0,
  Place: 0,
  Migrate: 0,
  Stop: 0,
  InPlaceUpdate: 0,
  DestructiveUpdate: 0,
  Canary: 0,
  Preemptions: 0,
  Disconnect: 0,
  Reconnect: 0,
  RescheduleNow: 0,
  RescheduleLater: 0,
};

describe('annotateDiff', () => {
  it('SC-304: counters that are not zero, by their words', () => {
    const all = {
      ...none,
      Ignore: 1,
      Place: 2,
      Stop: 3,
      Migrate: 4,
      Canary: 5,
      InPlaceUpdate: 6,
      DestructiveUpdate: 7,
    };
    const updates = (desired: typeof none) => groupOf(annotateDiff(changed(web), { web: desired })).Updates;
    expect(updates({ ...all, Preemptions: 8, Reconnect: 9 })).toEqual({
      ignore: 1,
      create: 2,
      destroy: 3,
      migrate: 4,
      canary: 5,
      'in-place update': 6,
      'create/destroy update': 7,
    });
    expect(updates(none)).toEqual({});
    expect(groupOf(annotateDiff(changed(web), {})).Updates).toEqual({});
  });

  it.each([
    ['more', withGroup({ Count: 3 }), ['forces create']],
    ['fewer', withGroup({ Count: 0 }), ['forces destroy']],
  ])('SC-304: a count of %s', (_, job, annotations) => {
    const count = groupOf(annotateDiff(changed(job), {})).Fields.find(({ Name }) => Name === 'Count');
    expect(count?.Annotations).toEqual(annotations);
  });

  it('SC-304: the tasks of a group that comes or goes', () => {
    expect(taskOf(annotateDiff(diffJobs(null, web), {})).Annotations).toEqual(['forces create']);
    const gone = annotateDiff(diffJobs(web, null), {});
    expect(taskOf(gone).Annotations).toEqual(['forces destroy']);
    expect(groupOf(gone).Fields.find(({ Name }) => Name === 'Count')?.Annotations).toEqual(['forces destroy']);
  });

  const inPlace = ['forces in-place update'];
  const replaced = ['forces create/destroy update'];
  it.each<[string, Partial<Task>, string[]]>([
    ['nothing', {}, []],
    ['KillTimeout', { KillTimeout: 1 }, inPlace],
    ['a service', { Services: web.TaskGroups[0]!.Services }, inPlace],
    ['a constraint', { Constraints: [{ LTarget: 'a', RTarget: 'b', Operand: '=' }] }, inPlace],
    ['an affinity', { Affinities: [{ LTarget: 'a', RTarget: 'b', Operand: '=', Weight: 1 }] }, inPlace],
    ['the size of the log', { LogConfig: { ...app.LogConfig, MaxFiles: 2 } }, inPlace],
    ['whether there is a log', { LogConfig: { ...app.LogConfig, Disabled: true } }, replaced],
    ['another plain field', { KillSignal: 'SIGINT' }, replaced],
    ['the environment', { Env: { A: '2' } }, replaced],
    ['the configuration', { Config: { image: 'app:2' } }, replaced],
    ['resources', { Resources: { ...app.Resources, CPU: 1 } }, replaced],
  ])('SC-305 API-145: a change of %s', (_, over, annotations) => {
    expect(taskOf(annotateDiff(changed(withTask(over)), {})).Annotations).toEqual(annotations);
  });

  it('SC-305: a task that joins a group replaces its allocations', () => {
    const diff = annotateDiff(changed(withGroup({ Tasks: [app, { ...app, Name: 'side' }] })), {});
    expect(groupOf(diff).Tasks.map(({ Name, Annotations }) => [Name, Annotations])).toEqual([
      ['app', []],
      ['side', replaced],
    ]);
  });
});
