import type { Allocation } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const {
  aClientUpdate,
  aDeployment,
  aJob,
  aMachine,
  anAlloc,
  anEval,
  aNode,
  aPlanResult,
  aRegisteredJob,
  apply,
  timeNs,
} = fixtures;

/** A registered job and a way to apply plans for its evaluation. */
function cluster(given = aJob()) {
  const machine = aMachine();
  const { job, evaluation } = aRegisteredJob(machine, given);
  const plan = (over: Partial<TxnPayloads['ApplyPlanResults']>) =>
    apply(machine, 'ApplyPlanResults', aPlanResult({ Job: job, EvalID: evaluation.ID, ...over }));
  return { machine, job, evaluation, plan };
}

const alloc = (machine: StateMachine, { ID }: { ID: string }): Allocation => machine.tables.allocs.get(ID)!;

describe('plan results', () => {
  it('ST-112: rows change in the order of the plan', () => {
    const { machine, job, plan } = cluster();
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const [stays, goes] = [anAlloc({ Job: job }), anAlloc({ Job: job })];
    plan({ AllocsUpdated: [stays, goes] });
    const applied = plan({
      IneligibleNodes: [node.ID],
      Deployment: aDeployment(),
      AllocsUpdated: [anAlloc({ Job: job })],
      AllocsStopped: [{ ID: stays.ID, DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' }],
      AllocsPreempted: [{ ID: goes.ID, PreemptedByAllocation: 'x' }],
      PreemptionEvals: [anEval({ TriggeredBy: 'preemption' })],
      FollowupEvals: [anEval({ TriggeredBy: 'alloc-failure' })],
    });
    const order = applied.changes.map((change) => change.table).filter((table) => table !== 'job_summary');
    expect(order).toEqual(['nodes', 'deployment', 'evals', 'allocs', 'allocs', 'allocs', 'evals', 'evals']);
    expect([alloc(machine, stays).DesiredStatus, alloc(machine, goes).DesiredStatus]).toEqual(['stop', 'evict']);
  });

  it('ST-113 EB-269: rejected nodes become ineligible, one that is gone is skipped', () => {
    const { machine, plan } = cluster();
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const { verdict, index } = plan({ IneligibleNodes: ['gone', node.ID], UpdatedAt: timeNs + 1_500_000_000 });
    expect(verdict.kind).toBe('accepted');
    const stored = machine.tables.nodes.get(node.ID)!;
    expect(stored).toMatchObject({
      SchedulingEligibility: 'ineligible',
      StatusUpdatedAt: timeNs / 1e9 + 1,
      ModifyIndex: index,
    });
    expect(stored.Events.at(-1)).toMatchObject({
      Subsystem: 'Scheduler',
      Message:
        'Node marked as ineligible for scheduling due to multiple plan rejections, refer to https://developer.hashicorp.com/nomad/s/port-plan-failure for more information',
      Timestamp: '2026-01-01T00:00:01.500Z',
      CreateIndex: index,
    });
  });

  it('ST-116 EB-272: the evaluation gets the index and nothing else; a missing one refuses the plan', () => {
    const { machine, evaluation, plan } = cluster();
    const { index } = plan({});
    expect(machine.tables.evals.get(evaluation.ID)).toEqual({ ...evaluation, ModifyIndex: index });
    const AllocsUpdated = [anAlloc()];
    expect(plan({ EvalID: 'gone', AllocsUpdated }).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'unable to find eval id "gone"',
    });
    expect(machine.tables.allocs.size).toBe(0);
  });

  it('ST-117 ST-122: a new allocation gets its indexes, times and the job of the plan', () => {
    const { machine, job, plan } = cluster();
    const placed = anAlloc({ JobID: 'web', Job: null, CreateTime: 0, ModifyTime: 0 });
    const { index } = plan({ AllocsUpdated: [placed], UpdatedAt: 99 });
    expect(alloc(machine, placed)).toMatchObject({
      CreateIndex: index,
      ModifyIndex: index,
      AllocModifyIndex: index,
      CreateTime: 99,
      ModifyTime: 99,
    });
    expect(alloc(machine, placed).Job).toBe(job);
    const own = anAlloc({ Job: { ...job, Version: 7 } });
    plan({ AllocsUpdated: [own], UpdatedAt: 100 });
    expect(alloc(machine, own).Job!.Version).toBe(7);
    plan({ AllocsUpdated: [alloc(machine, placed)], UpdatedAt: 120 });
    expect(alloc(machine, placed)).toMatchObject({ CreateTime: 99, ModifyTime: 120, CreateIndex: index });
  });

  it('ST-117, AU-135: a placement is signed for by the active root key, and its health begins with its index', () => {
    const { machine, job, plan } = cluster();
    const DeploymentStatus = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 };
    const placed = anAlloc({ Job: job, DeploymentStatus });
    const { index } = plan({ AllocsUpdated: [placed] });
    expect(alloc(machine, placed)).toMatchObject({
      SigningKeyID: '',
      DeploymentStatus: { ...DeploymentStatus, ModifyIndex: index },
    });
    const key = fixtures.aRootKey();
    apply(machine, 'RootKeyUpsert', { Key: key, Rekey: false, MustExist: false });
    plan({ AllocsUpdated: [placed] });
    expect(alloc(machine, placed).SigningKeyID).toBe(key.KeyID);
    apply(machine, 'RootKeyUpsert', { Key: fixtures.aRootKey(), Rekey: false, MustExist: false });
    plan({ AllocsUpdated: [placed] });
    expect(alloc(machine, placed).SigningKeyID).toBe(key.KeyID);
  });

  it('ST-117: versions that are equal share one object; another version of an allocation is its own', () => {
    const { machine, job, plan } = cluster();
    const same = anAlloc({ Job: { ...job } });
    const others = (['Version', 'CreateIndex', 'ModifyIndex'] as const).map((member) =>
      anAlloc({ Job: { ...job, [member]: 99 } }),
    );
    plan({ AllocsUpdated: [same, ...others] });
    expect(alloc(machine, same).Job).toBe(job);
    for (const other of others) expect(alloc(machine, other).Job).toBe(other.Job);
  });

  it('ST-118: an update in place brings its job version; health and the link to a replacement stay', () => {
    const { machine, job, plan } = cluster();
    const healthy = { Healthy: true, Timestamp: '2026-01-01T00:00:00Z', Canary: false, ModifyIndex: 0 };
    const old = anAlloc({ Job: job, DeploymentID: 'd', DeploymentStatus: healthy });
    plan({ AllocsUpdated: [old] });
    const next = anAlloc({ Job: job, PreviousAllocation: old.ID });
    plan({ AllocsUpdated: [next] });
    const stored = alloc(machine, old);
    const newer = { ...job, Version: 1 };
    plan({ Job: newer, AllocsUpdated: [{ ...old, Job: newer, DeploymentStatus: null, NextAllocation: '' }] });
    expect(alloc(machine, old)).toMatchObject({ NextAllocation: next.ID, DeploymentStatus: stored.DeploymentStatus });
    expect(alloc(machine, old).Job).toBe(newer);
    const moved = { ...healthy, Healthy: null, Timestamp: null };
    const { index } = plan({ AllocsUpdated: [{ ...old, DeploymentID: 'e', DeploymentStatus: moved }] });
    expect(alloc(machine, old).DeploymentStatus).toEqual({ ...moved, ModifyIndex: index });
  });

  it('ST-121: an update of an allocation does not link it again', () => {
    const { machine, job, plan } = cluster();
    const old = anAlloc({ Job: job });
    plan({ AllocsUpdated: [old] });
    const [first, second] = [1, 2].map(() => anAlloc({ Job: job, PreviousAllocation: old.ID }));
    plan({ AllocsUpdated: [first!] });
    plan({ AllocsUpdated: [second!] });
    plan({ AllocsUpdated: [first!] });
    expect(alloc(machine, old).NextAllocation).toBe(second!.ID);
  });

  it('ST-117: without a job it is refused', () => {
    const { machine, plan } = cluster();
    const placed = anAlloc({ JobID: 'web', Job: null });
    expect(plan({ Job: null, AllocsUpdated: [placed] }).verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: `attempting to upsert allocation "${placed.ID}" without a job`,
    });
    expect(machine.tables.allocs.size).toBe(0);
  });

  it('ST-117 ST-171 SC-311: nothing is placed for a job that was stopped or purged meanwhile, the rest is applied', () => {
    for (const Purge of [false, true]) {
      const { machine, job, plan } = cluster();
      const other = aRegisteredJob(machine, aJob({ ID: 'api' })).job;
      const stop = { JobID: 'web', Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
      apply(machine, 'JobDeregister', stop, { namespace: 'default' });
      const [late, fine] = [anAlloc({ Job: job }), anAlloc({ Job: other })];
      expect(plan({ AllocsUpdated: [late, fine] }).verdict.kind).toBe('accepted');
      expect(machine.tables.allocs.has(late.ID)).toBe(false);
      expect(machine.tables.allocs.has(fine.ID)).toBe(true);
    }
  });

  it('ST-118 EB-276 SC-309: a known allocation keeps what its agent owns', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    const TaskStates: Allocation['TaskStates'] = {
      web: {
        State: 'running',
        Failed: false,
        Restarts: 0,
        LastRestart: null,
        StartedAt: null,
        FinishedAt: null,
        Events: [],
        Paused: '',
      },
    };
    apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate(first, { TaskStates, ClientDescription: 'up' })],
      Evals: [],
    });
    const planned = { ...first, Job: null, DesiredDescription: 'in place', ClientStatus: 'pending' as const };
    const { index } = plan({ AllocsUpdated: [planned] });
    expect(alloc(machine, first)).toMatchObject({
      DesiredDescription: 'in place',
      TaskStates,
      ClientStatus: 'running',
      ClientDescription: 'up',
      ModifyIndex: index,
      AllocModifyIndex: index,
    });
    expect(alloc(machine, first).Job).toBe(first.Job);
    plan({ AllocsUpdated: [{ ...planned, ClientStatus: 'unknown', ClientDescription: 'gone quiet' }] });
    expect(alloc(machine, first)).toMatchObject({
      ClientStatus: 'unknown',
      ClientDescription: 'gone quiet',
      TaskStates,
    });
  });

  it('ST-118 ST-111: what was asked of an allocation while its update was planned stays', () => {
    const { machine, job, plan } = cluster();
    const [marked, victim] = [anAlloc({ Job: job }), anAlloc({ Job: job })];
    plan({ AllocsUpdated: [marked, victim] });
    const Migrate = { ...marked.DesiredTransition, Migrate: true };
    apply(machine, 'AllocUpdateDesiredTransition', { Transitions: { [marked.ID]: Migrate }, Evals: [] });
    plan({ AllocsPreempted: [{ ID: victim.ID, PreemptedByAllocation: 'other' }] });
    plan({ AllocsUpdated: [marked, victim].map((planned) => ({ ...planned, EvalID: 'later' })) });
    expect(alloc(machine, marked)).toMatchObject({ EvalID: 'later', DesiredTransition: { Migrate: true } });
    expect(alloc(machine, victim)).toMatchObject({
      EvalID: 'later',
      DesiredStatus: 'evict',
      DesiredDescription: 'Preempted by alloc ID other',
      PreemptedByAllocation: 'other',
    });
  });

  it('ST-118 ST-106: an update planned while an allocation was away does not undo its return', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    const followup = anEval({ JobID: job.ID, WaitUntil: '2026-01-01T00:05:00Z' });
    const away: Allocation = {
      ...first,
      ClientStatus: 'unknown',
      AllocStates: [{ Field: 0, Value: 'unknown', Time: null }],
      FollowupEvalID: followup.ID,
    };
    plan({ AllocsUpdated: [away], FollowupEvals: [followup] });
    expect(alloc(machine, first)).toMatchObject({ ClientStatus: 'unknown', FollowupEvalID: followup.ID });
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(first)], Evals: [] });
    plan({ AllocsUpdated: [{ ...away, EvalID: 'in place' }] });
    expect(alloc(machine, first)).toMatchObject({ EvalID: 'in place', ClientStatus: 'running', FollowupEvalID: '' });
  });

  it('EB-273 ST-118 ST-110: a stop sets what it carries and appends to the states, the rest stays', () => {
    const { machine, job, plan } = cluster();
    const tracker = { Events: [], LastReschedule: 'ok' };
    const first = anAlloc({
      Job: job,
      FollowupEvalID: 'f',
      RescheduleTracker: tracker,
      AllocStates: [{ Field: 0, Value: 'unknown', Time: null }],
    });
    plan({ AllocsUpdated: [first] });
    plan({ AllocsStopped: [{ ID: first.ID, DesiredDescription: 'gone', ClientStatus: '', FollowupEvalID: '' }] });
    const kept = { DesiredStatus: 'stop', DesiredDescription: 'gone', FollowupEvalID: 'f', RescheduleTracker: tracker };
    expect(alloc(machine, first)).toMatchObject({ ...kept, ClientStatus: 'pending', AllocStates: first.AllocStates });
    expect(alloc(machine, first).Job).toBe(job);
    plan({
      AllocsStopped: [
        {
          ID: first.ID,
          DesiredDescription: 'lost',
          ClientStatus: 'lost',
          FollowupEvalID: 'g',
          RescheduleTracker: null,
          AllocStates: [{ Field: 0, Value: 'lost', Time: null }],
        },
      ],
    });
    expect(alloc(machine, first)).toMatchObject({ ClientStatus: 'lost', FollowupEvalID: 'g', RescheduleTracker: null });
    expect(alloc(machine, first).AllocStates.map((entry) => entry.Value)).toEqual(['unknown', 'lost']);
  });

  it('EB-274 ST-118: a preemption evicts; a diff for an allocation that is gone refuses the plan', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    plan({ AllocsPreempted: [{ ID: first.ID, PreemptedByAllocation: 'winner' }] });
    expect(alloc(machine, first)).toMatchObject({
      DesiredStatus: 'evict',
      PreemptedByAllocation: 'winner',
      DesiredDescription: 'Preempted by alloc ID winner',
    });
    const gone = { kind: 'refused', code: 'not-found', error: "alloc gone doesn't exist" };
    expect(plan({ AllocsPreempted: [{ ID: 'gone', PreemptedByAllocation: 'x' }] }).verdict).toEqual(gone);
    const stop = { ID: 'gone', DesiredDescription: '', ClientStatus: '' as const, FollowupEvalID: '' };
    expect(plan({ AllocsStopped: [stop] }).verdict).toEqual(gone);
  });

  it('ST-107: an allocation that the scheduler gives up as lost loses its services', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    const service = fixtures.aServiceRegistration({ AllocID: first.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    plan({ AllocsUpdated: [{ ...first, ClientStatus: 'lost' }] });
    expect(machine.tables.service_registrations.size).toBe(0);
  });

  it('EB-278 ST-121 ST-25: the replaced allocation is linked; its ModifyIndex moves, AllocModifyIndex does not', () => {
    const { machine, job, plan } = cluster();
    const old = anAlloc({ Job: job });
    const first = plan({ AllocsUpdated: [old] });
    const replacement = anAlloc({ Job: job, PreviousAllocation: old.ID });
    const second = plan({ AllocsUpdated: [replacement] });
    expect(alloc(machine, old)).toMatchObject({
      NextAllocation: replacement.ID,
      ModifyIndex: second.index,
      AllocModifyIndex: first.index,
    });
  });

  it('EB-277 ST-118: the states that a plan carries for a known allocation are stored: a reconnect is handled once', () => {
    const { machine, job, plan } = cluster();
    const unknown = { Field: 0, Value: 'unknown', Time: null };
    const first = anAlloc({ Job: job, AllocStates: [unknown] });
    plan({ AllocsUpdated: [first] });
    const AllocStates = [unknown, { Field: 0, Value: 'running', Time: '2026-01-01T00:00:00Z' }];
    plan({ AllocsUpdated: [{ ...first, Job: null, AllocStates }] });
    expect(alloc(machine, first).AllocStates).toEqual(AllocStates);
  });

  it('EB-279 ST-73: what runs makes its job run, what is stopped lets it end', () => {
    const { machine, job, evaluation, plan } = cluster();
    const status = () => machine.tables.jobs.get('default/web')!.Status;
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    expect(status()).toBe('dead');
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    expect(status()).toBe('running');
    plan({ AllocsStopped: [{ ID: first.ID, DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' }] });
    expect(status()).toBe('dead');
  });

  it('ST-73: the evaluations of a plan do not move the status of their jobs', () => {
    const { machine, evaluation, plan } = cluster();
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    plan({ FollowupEvals: [anEval()], PreemptionEvals: [anEval()] });
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('dead');
  });
});
