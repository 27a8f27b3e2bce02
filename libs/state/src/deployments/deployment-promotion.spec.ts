import type { Allocation, Deployment, DeploymentState } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';

const {
  aClientUpdate,
  aDeployment,
  aDeploymentState,
  aGroup,
  aJob,
  aMachine,
  anAlloc,
  anEval,
  aPlanResult,
  aRegisteredJob,
  apply,
  timeNs,
} = fixtures;

const LATER = timeNs + 60e9;

/** A deployment with canaries of the groups, placed and nothing more. */
function rollout(groups: Record<string, Partial<DeploymentState>>, over: Partial<Deployment> = {}) {
  const machine = aMachine();
  const names = Object.keys(groups);
  const { job, evaluation } = aRegisteredJob(machine, aJob({ TaskGroups: names.map((Name) => aGroup({ Name })) }));
  const deployment = aDeployment({
    JobCreateIndex: job.CreateIndex,
    StatusDescription: 'Deployment is running but requires manual promotion',
    TaskGroups: Object.fromEntries(names.map((name) => [name, aDeploymentState({ DesiredTotal: 3, ...groups[name] })])),
    ...over,
  });
  const canaries = names.flatMap((TaskGroup) =>
    Array.from({ length: groups[TaskGroup]!.DesiredCanaries ?? 0 }, () =>
      anAlloc({
        Job: job,
        TaskGroup,
        DeploymentID: deployment.ID,
        DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 },
      }),
    ),
  );
  apply(
    machine,
    'ApplyPlanResults',
    aPlanResult({ EvalID: evaluation.ID, Job: job, Deployment: deployment, AllocsUpdated: canaries }),
  );
  const report = (alloc: Allocation, Healthy: boolean, ClientStatus: 'running' | 'failed' = 'running') =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: [
        aClientUpdate(alloc, {
          ClientStatus,
          DeploymentStatus: { Healthy, Timestamp: '2026-01-01T00:00:10.000Z' },
        }),
      ],
      Evals: [],
    });
  const promote = (given: Partial<TxnPayloads['DeploymentPromote']> = {}) =>
    apply(machine, 'DeploymentPromote', {
      DeploymentID: deployment.ID,
      All: true,
      Groups: [],
      PromotedAt: LATER,
      Eval: anEval({ TriggeredBy: 'deployment-watcher' }),
      ...given,
    });
  const stored = () => machine.tables.deployment.get(deployment.ID)!;
  const alloc = (of: Allocation) => machine.tables.allocs.get(of.ID)!;
  return { machine, deployment, canaries, report, promote, stored, alloc };
}

describe('promotion', () => {
  it('ST-127 DP-851: every short group is named, and nothing is promoted', () => {
    const { machine, canaries, report, promote, stored } = rollout({
      web: { DesiredCanaries: 2 },
      api: { DesiredCanaries: 1 },
      cache: { DesiredCanaries: 1 },
    });
    report(canaries[0]!, true);
    report(canaries[3]!, true);
    const before = stored();
    const Eval = anEval();
    expect(promote({ Eval }).verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error:
        '2 errors occurred:\n\t* Task group "api" has 0/1 healthy allocations\n' +
        '\t* Task group "web" has 1/2 healthy allocations\n\n',
    });
    expect(stored()).toBe(before);
    expect(machine.tables.evals.has(Eval.ID)).toBe(false);
    expect(promote({ All: false, Groups: ['api'] }).verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: '1 error occurred:\n\t* Task group "api" has 0/1 healthy allocations\n\n',
    });
  });

  it('DP-852: a healthy canary that has ended does not count', () => {
    const { canaries, report, promote } = rollout({ web: { DesiredCanaries: 1 } });
    report(canaries[0]!, true);
    report(canaries[0]!, true, 'failed');
    expect(promote().verdict).toMatchObject({
      kind: 'refused',
      code: 'conflict',
      error: expect.stringContaining('0/1'),
    });
  });

  it('ST-128 ST-129 ST-130 DP-853 DP-854: groups, deadlines, description, canaries and times', () => {
    const { canaries, report, promote, stored, alloc } = rollout({
      web: { DesiredCanaries: 2 },
      api: { DesiredCanaries: 0 },
      free: { DesiredCanaries: 0, ProgressDeadline: 0 },
    });
    report(canaries[0]!, true);
    report(canaries[1]!, true);
    const { index } = promote();
    const { web, api, free } = stored().TaskGroups;
    expect([web!.Promoted, api!.Promoted, free!.Promoted]).toEqual([true, true, true]);
    expect(web!.RequireProgressBy).toBe('2026-01-01T00:11:00.000Z');
    expect([api!.RequireProgressBy, free!.RequireProgressBy]).toEqual([null, null]);
    expect(stored()).toMatchObject({
      StatusDescription: 'Deployment is running',
      ModifyIndex: index,
      ModifyTime: LATER,
    });
    expect(alloc(canaries[0]!)).toMatchObject({
      DeploymentStatus: { Canary: false, Healthy: true, ModifyIndex: index },
      ModifyIndex: index,
      AllocModifyIndex: index,
    });
    expect(stored().TaskGroups['web']!.PlacedCanaries).toHaveLength(2);
  });

  it('DP-853: an unhealthy canary beside enough healthy ones stays one', () => {
    const { canaries, report, promote, alloc, deployment, machine } = rollout({ web: { DesiredCanaries: 1 } });
    const extra = anAlloc({
      Job: canaries[0]!.Job,
      DeploymentID: deployment.ID,
      DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 },
    });
    const evaluation = [...machine.tables.evals.all()][0]!;
    apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, AllocsUpdated: [extra] }));
    report(canaries[0]!, false);
    report(extra, true);
    expect(promote().verdict.kind).toBe('accepted');
    expect(alloc(canaries[0]!).DeploymentStatus!.Canary).toBe(true);
    expect(alloc(extra).DeploymentStatus!.Canary).toBe(false);
  });

  it('DP-852: a canary that was collected, or that is of another group, does not count', () => {
    const { machine, deployment, canaries, report, promote } = rollout({
      web: { DesiredCanaries: 1 },
      api: { DesiredCanaries: 1 },
    });
    const [web, api] = canaries as [Allocation, Allocation];
    for (const canary of [web, api]) report(canary, true);
    const stored = machine.tables.deployment.get(deployment.ID)!;
    const TaskGroups = {
      web: { ...stored.TaskGroups['web']!, PlacedCanaries: ['gone', api.ID] },
      api: stored.TaskGroups['api']!,
    };
    machine.tables.deployment.replace(deployment.ID, { ...stored, TaskGroups });
    expect(promote().verdict).toMatchObject({
      error: '1 error occurred:\n\t* Task group "web" has 0/1 healthy allocations\n\n',
    });
  });

  it('ST-128: a group without a progress deadline gets none, though one was stored', () => {
    const { machine, deployment, promote, stored } = rollout({ web: { ProgressDeadline: 0 } });
    const RequireProgressBy = '2026-01-01T00:10:00.000Z';
    const row = stored();
    const web = { ...row.TaskGroups['web']!, RequireProgressBy };
    machine.tables.deployment.replace(deployment.ID, { ...row, TaskGroups: { web } });
    promote();
    expect(stored().TaskGroups['web']).toMatchObject({ Promoted: true, RequireProgressBy });
  });

  it('DP-850: only the named groups, unknown names ignored; the description waits for the rest', () => {
    const { canaries, report, promote, stored } = rollout({ web: { DesiredCanaries: 1 }, api: { DesiredCanaries: 1 } });
    report(canaries[0]!, true);
    expect(promote({ All: false, Groups: ['web', 'nobody'] }).verdict.kind).toBe('accepted');
    expect(stored().TaskGroups['web']!.Promoted).toBe(true);
    expect(stored().TaskGroups['api']!.Promoted).toBe(false);
    expect(stored().StatusDescription).toBe('Deployment is running but requires manual promotion');
    const Eval = anEval();
    const { index } = promote({ All: false, Groups: [], Eval });
    expect(stored()).toMatchObject({ ModifyIndex: index, TaskGroups: { api: { Promoted: false } } });
  });

  it('DP-855 DP-856: promoting again makes an evaluation each time; a paused one stays paused', () => {
    const { machine, canaries, report, promote, stored } = rollout(
      { web: { DesiredCanaries: 1 } },
      { Status: 'paused', StatusDescription: 'Deployment is paused' },
    );
    report(canaries[0]!, true);
    promote();
    expect(stored()).toMatchObject({ Status: 'paused', StatusDescription: 'Deployment is paused' });
    const Eval = anEval();
    expect(promote({ Eval }).verdict.kind).toBe('accepted');
    expect(machine.tables.evals.has(Eval.ID)).toBe(true);
  });

  it('ST-128: a time of promotion that no date holds is applied, and stops no copy of the state', () => {
    const { machine, deployment, canaries, report, promote } = rollout({ web: { DesiredCanaries: 1 } });
    report(canaries[0]!, true);
    expect(promote({ PromotedAt: 1e300 }).verdict.kind).toBe('accepted');
    expect(machine.tables.deployment.get(deployment.ID)!.TaskGroups['web']).toMatchObject({ Promoted: true });
  });

  it('ST-123 DP-203: a terminal or missing one is refused', () => {
    const { promote, deployment } = rollout({ web: {} }, { Status: 'failed' });
    expect(promote().verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: `Deployment "${deployment.ID}" has terminal status "failed":`,
    });
    expect(promote({ DeploymentID: 'gone' }).verdict).toMatchObject({
      error: 'Deployment ID "gone" couldn\'t be updated as it does not exist',
    });
  });

  it('DP-124 DP-857: a plan computed before the promotion cannot undo it, whichever comes first', () => {
    const { machine, canaries, deployment, report, promote, stored } = rollout({ web: { DesiredCanaries: 1 } });
    report(canaries[0]!, true);
    const stale = stored();
    const evaluation = [...machine.tables.evals.all()][0]!;
    const plan = () =>
      apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, Deployment: stale })).verdict;
    expect(plan().kind).toBe('accepted');
    promote();
    expect(plan()).toEqual({ kind: 'refused', code: 'conflict', error: 'deployment promotion cannot be undone' });
    expect(machine.tables.deployment.get(deployment.ID)!.TaskGroups['web']!.Promoted).toBe(true);
  });

  it('DP-E15: promotion and an unhealthy report at the same instant: the first in the log decides', () => {
    const first = rollout({ web: { DesiredCanaries: 1 } });
    first.report(first.canaries[0]!, true);
    expect(first.promote().verdict.kind).toBe('accepted');
    first.report(first.canaries[0]!, false);
    expect(first.stored().TaskGroups['web']).toMatchObject({ Promoted: true, HealthyAllocs: 0, UnhealthyAllocs: 1 });

    const second = rollout({ web: { DesiredCanaries: 1 } });
    second.report(second.canaries[0]!, true);
    second.report(second.canaries[0]!, false);
    expect(second.promote().verdict).toMatchObject({
      kind: 'refused',
      code: 'conflict',
      error: expect.stringContaining('0/1'),
    });
    expect(second.stored().TaskGroups['web']!.Promoted).toBe(false);
  });

  it('EV-5 EV-8 DP-1304: two groups with one canary each are four events, the deployment first', () => {
    const { canaries, report, promote } = rollout({ web: { DesiredCanaries: 1 }, api: { DesiredCanaries: 1 } });
    report(canaries[0]!, true);
    report(canaries[1]!, true);
    expect(eventsOf(promote())!.Events.map((e) => `${e.Topic} ${e.Type}`)).toEqual([
      'Deployment DeploymentPromotion',
      'Allocation DeploymentPromotion',
      'Allocation DeploymentPromotion',
      'Evaluation DeploymentPromotion',
    ]);
  });
});
