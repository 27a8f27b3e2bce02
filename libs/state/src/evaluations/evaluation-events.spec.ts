import type { Evaluation } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TxnPayloads, TxnType } from '../log/catalogue.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { Applied, StateMachine } from '../machine/state-machine.js';

const { aClientUpdate, aDeployment, aDeploymentState, aJob, aMachine, anAlloc, anEval, aNode, aPlanResult } = fixtures;
const { aRegisteredJob, aRegistration, apply } = fixtures;

let machine: StateMachine;
beforeEach(() => {
  machine = aMachine();
});

const events = (applied: Applied) => eventsOf(applied)?.Events ?? [];
const seen = (applied: Applied) => events(applied).map((event) => `${event.Topic} ${event.Type}`);
const write = <T extends TxnType>(type: T, payload: TxnPayloads[T]) =>
  apply(machine, type, payload, { namespace: 'default' });

/** A job that runs one allocation of a deployment, and its evaluation. */
function running() {
  const node = aNode();
  write('NodeRegister', { Node: node, CreateNodePool: false });
  const { job, evaluation } = aRegisteredJob(machine);
  const deployment = aDeployment({ TaskGroups: { web: aDeploymentState() } });
  const alloc = anAlloc({ Job: job, NodeID: node.ID, DeploymentID: deployment.ID });
  write(
    'ApplyPlanResults',
    aPlanResult({ Job: job, AllocsUpdated: [alloc], Deployment: deployment, EvalID: evaluation.ID }),
  );
  return { job, evaluation, deployment, alloc };
}

/** One transaction for each row of the table, with the evaluation it carries. */
const STEPS: Record<string, (Eval: Evaluation) => Applied> = {
  JobRegistered: (Eval) => write('JobRegister', aRegistration(aJob({ Priority: 70 }), { Eval })),
  JobDeregistered: (Eval) =>
    write('JobDeregister', {
      JobID: 'web',
      Purge: false,
      NoShutdownDelay: true,
      SubmitTime: 0,
      Eval,
      TrackedVersions: 6,
    }),
  EvaluationUpdated: (Eval) => write('EvalUpdate', { Evals: [Eval] }),
  AllocationUpdateDesiredStatus: (Eval) => {
    const [alloc] = machine.tables.allocs.all();
    return write('AllocUpdateDesiredTransition', {
      Transitions: { [alloc!.ID]: { ...alloc!.DesiredTransition, Migrate: true } },
      Evals: [Eval],
    });
  },
  AllocationUpdated: (Eval) => {
    const [alloc] = machine.tables.allocs.all();
    return write('AllocClientUpdate', { Allocs: [aClientUpdate(alloc!, { ClientStatus: 'failed' })], Evals: [Eval] });
  },
  DeploymentStatusUpdate: (Eval) => {
    const [deployment] = machine.tables.deployment.all();
    return write('DeploymentStatusUpdate', {
      Update: { DeploymentID: deployment!.ID, Status: 'paused', StatusDescription: '' },
      UpdatedAt: 1,
      Eval,
      Job: null,
      RevertSuffix: '',
      TrackedVersions: 6,
    });
  },
  DeploymentPromotion: (Eval) => {
    const [deployment] = machine.tables.deployment.all();
    return write('DeploymentPromote', { DeploymentID: deployment!.ID, All: true, Groups: [], PromotedAt: 1, Eval });
  },
  DeploymentAllocHealth: (Eval) => {
    const [alloc] = machine.tables.allocs.all();
    return write('DeploymentAllocHealth', {
      DeploymentID: alloc!.DeploymentID,
      HealthyAllocationIDs: [alloc!.ID],
      UnhealthyAllocationIDs: [],
      Timestamp: 1,
      DeploymentUpdate: null,
      Eval,
      Job: null,
      RevertSuffix: '',
      SubmissionFrom: null,
      TrackedVersions: 6,
    });
  },
  PlanResult: (Eval) => {
    const [evaluation] = machine.tables.evals.all();
    return write('ApplyPlanResults', aPlanResult({ EvalID: evaluation!.ID, FollowupEvals: [Eval] }));
  },
};

/** What else the transaction of the row changes. */
const OTHERS: Record<string, readonly string[]> = {
  JobRegistered: ['Job'],
  JobDeregistered: ['Allocation', 'Job'],
  EvaluationUpdated: [],
  AllocationUpdateDesiredStatus: ['Allocation'],
  AllocationUpdated: ['Allocation', 'Node'],
  DeploymentStatusUpdate: ['Deployment'],
  DeploymentPromotion: ['Deployment'],
  DeploymentAllocHealth: ['Allocation', 'Deployment'],
  PlanResult: ['Evaluation'],
};

describe('events of evaluations', () => {
  it.each(Object.keys(STEPS))(
    'EB-316, EB-25: of a transaction %s, cause and evaluation under one index and type',
    (type) => {
      const { evaluation } = running();
      write('EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
      const Eval = anEval({ DeploymentID: 'some-deployment' });
      const applied = STEPS[type]!(Eval);
      expect(applied.verdict.kind).toBe('accepted');
      const [event] = events(applied).filter((e) => e.Key === Eval.ID);
      expect(event).toMatchObject({ Topic: 'Evaluation', Type: type, Namespace: 'default', Index: applied.index });
      expect(event!.FilterKeys).toEqual(['web', 'some-deployment']);
      expect(event!.Payload).toMatchObject({ Evaluation: { ID: Eval.ID, ModifyIndex: applied.index } });
      const others = events(applied).filter((e) => e.Key !== Eval.ID);
      expect(others.map((e) => e.Type)).toEqual(others.map(() => type));
      expect([...new Set(others.map((e) => e.Topic))].toSorted()).toEqual(OTHERS[type]);
      expect(machine.tables.evals.get(Eval.ID)!.CreateIndex).toBe(applied.index);
    },
  );

  it('EB-317: a type without an event type makes no events, whatever it changes', () => {
    const { evaluation } = running();
    write('EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    expect(eventsOf(write('SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 }))).toBeNull();
    const deletion = { EvalIDs: [evaluation.ID], AllocIDs: [], ScanIndex: 0, UserInitiated: true };
    const deleted = write('EvalDelete', deletion);
    expect(deleted.changes).not.toEqual([]);
    expect(eventsOf(deleted)).toBeNull();
  });

  it('EB-318, EB-320: a plan with two allocations and a deployment for a pending job is five events of one index', () => {
    const { job, evaluation } = aRegisteredJob(machine);
    const applied = write(
      'ApplyPlanResults',
      aPlanResult({
        Job: job,
        AllocsUpdated: [anAlloc({ Job: job }), anAlloc({ Job: job })],
        Deployment: aDeployment(),
        EvalID: evaluation.ID,
      }),
    );
    expect(seen(applied).toSorted()).toEqual([
      'Allocation PlanResult',
      'Allocation PlanResult',
      'Deployment PlanResult',
      'Evaluation PlanResult',
      'Job PlanResult',
    ]);
    expect(new Set(events(applied).map((e) => e.Index))).toEqual(new Set([applied.index]));
    const [allocation] = events(applied).filter((e) => e.Topic === 'Allocation');
    expect(JSON.stringify(allocation!.Payload)).not.toContain('TaskGroups');
  });

  it('EB-318: a node that a plan makes ineligible is one of its events', () => {
    const { evaluation } = running();
    const [node] = machine.tables.nodes.all();
    const applied = write('ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, IneligibleNodes: [node!.ID] }));
    expect(seen(applied)).toContain('Node PlanResult');
  });

  it('EB-319: a blocked evaluation that is canceled on the side has an event of its own', () => {
    const { evaluation } = aRegisteredJob(machine);
    const blocked = anEval({ Status: 'blocked' });
    write('EvalUpdate', { Evals: [blocked] });
    const applied = write('EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const payloads = events(applied).filter((e) => e.Topic === 'Evaluation');
    expect(payloads.map((e) => `${e.Key} ${e.Type}`).toSorted()).toEqual(
      [evaluation.ID, blocked.ID].map((id) => `${id} EvaluationUpdated`).toSorted(),
    );
    expect(payloads.find((e) => e.Key === blocked.ID)!.Payload).toMatchObject({ Evaluation: { Status: 'canceled' } });
  });
});

describe('cause and evaluation', () => {
  it.each(Object.keys(STEPS))('EB-25: what is refused leaves neither (%s)', (type) => {
    const before = machine.tables.evals.size;
    const Eval = { ...anEval(), Status: 'nonsense' as Evaluation['Status'] };
    running();
    const applied = STEPS[type]!(Eval);
    expect(applied.verdict.kind).toBe('refused');
    expect(applied.changes).toEqual([]);
    expect(machine.tables.evals.size).toBe(before + 1);
  });
});
