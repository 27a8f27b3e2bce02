import type { AllocListStub } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { dryRunText, type JobPlanAnswer, planExitCode, preemptionTable } from './job-plan-text.js';

const diff = (Type: 'None' | 'Edited') => ({ Type, ID: 'web', Fields: [], Objects: [], TaskGroups: [] });
const plan = (over: Partial<JobPlanAnswer>): JobPlanAnswer => ({
  Annotations: null,
  FailedTGAllocs: null,
  JobModifyIndex: 0,
  CreatedEvals: null,
  Diff: diff('Edited'),
  NextPeriodicLaunch: null,
  Warnings: '',
  ...over,
});
const desired = (counts: Record<string, number>) => ({ DesiredTGUpdates: { web: counts }, PreemptedAllocs: null });

describe('CL-322: the exit code of a plan', () => {
  it.each(['Stop', 'Place', 'Migrate', 'DestructiveUpdate', 'Canary'])('%s is a change', (counter) => {
    expect(planExitCode(plan({ Annotations: desired({ [counter]: 1 }) }))).toBe(1);
  });

  it('in-place updates are none, and an unchanged job has none whatever is placed', () => {
    expect(planExitCode(plan({ Annotations: desired({ InPlaceUpdate: 1, Ignore: 3, Place: 0 }) }))).toBe(0);
    expect(planExitCode(plan({ Diff: diff('None'), Annotations: desired({ Place: 1 }) }))).toBe(0);
    expect(planExitCode(plan({}))).toBe(0);
  });
});

describe('CL-327: the text of a dry run', () => {
  const text = (over: Partial<JobPlanAnswer>, isSystem = false) =>
    dryRunText(plan(over), {
      isSystem,
      nowMs: 0,
      reasons: new Map([['web', ['* memory: asked 9 MiB, the largest node has 8 MiB']]]),
      red: (t) => t,
    });

  it('CL-327: everything found a place, or what did not, with its reasons', () => {
    expect(text({})).toBe('- All tasks successfully allocated.');
    const FailedTGAllocs = { web: { NodesEvaluated: 1, NodesExhausted: 1, CoalescedFailures: 1 }, api: {} };
    expect(text({ FailedTGAllocs })).toBe(
      [
        '- WARNING: Failed to place all allocations.',
        '  Task Group "api" (failed to place 1 allocation):',
        '    * No nodes were eligible for evaluation',
        '  Task Group "web" (failed to place 2 allocations):',
        '    * Resources exhausted on 1 nodes',
        '    * memory: asked 9 MiB, the largest node has 8 MiB',
      ].join('\n'),
    );
    expect(text({ FailedTGAllocs }, true)).toContain('Failed to place all allocations on all nodes.');
  });

  it('CL-327, CL-143: when it would be launched, both times cut to seconds', () => {
    expect(text({ NextPeriodicLaunch: '1970-01-01T01:00:00.5Z' })).toMatch(
      /\n- If submitted now, next periodic launch would be at 1970-01-01T\S+ \(1h0m0s from now\)\.$/,
    );
  });
});

it('CL-329: preempted allocations, or where there are many their jobs, or only the types', () => {
  const stub = (n: number, jobs: number) =>
    ({ ID: `a${n}`, JobID: `j${n % jobs}`, TaskGroup: 'g', Namespace: 'default', JobType: 'batch' }) as AllocListStub;
  const many = (n: number, jobs: number) => preemptionTable(Array.from({ length: n }, (_, i) => stub(i, jobs)));
  expect(many(1, 1)).toBe('Alloc ID  Job ID  Task Group\na0        j0      g');
  expect(many(10, 2)).toBe(
    'Job ID  Namespace  Job Type  Preemptions\nj0      default    batch     5\nj1      default    batch     5',
  );
  expect(many(10, 10)).toBe('Job Type  Preemptions\nbatch     10');
});
