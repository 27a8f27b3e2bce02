import {
  nsFromMs,
  type Allocation,
  type Deployment,
  type Evaluation,
  type Job,
  type Node,
  type PlanResult,
} from '@waybill/model';
import { fixtures, namespacedKey, StateMachine, stickyClaims } from '@waybill/state';
import type { Attempt } from './attempt.js';
import { schedule, schedulerTypeFor } from './schedule.js';

/** A state and the scheduler over it, for tests: what a pass wants, and what becomes of it when it is committed whole. */
export class SchedulingFixture {
  readonly state = new StateMachine();
  nowMs = 1_767_225_600_000;
  private ids = 0;

  constructor() {
    fixtures.apply(this.state, 'Initialise', {});
  }

  readonly newId = (): string => `22222222-2222-4222-8222-${(++this.ids).toString(16).padStart(12, '0')}`;

  addNode(over: Partial<Node> = {}): Node {
    const node = fixtures.aNode(over);
    fixtures.apply(this.state, 'NodeRegister', { Node: node, CreateNodePool: true });
    return node;
  }

  makeIneligible({ ID }: Node): void {
    fixtures.apply(this.state, 'NodeUpdateEligibility', {
      NodeID: ID,
      Eligibility: 'ineligible',
      NodeEvent: null,
      UpdatedAt: this.nowMs / 1000,
    });
  }

  drain({ ID }: Node): void {
    fixtures.apply(this.state, 'NodeUpdateDrain', {
      NodeID: ID,
      DrainStrategy: { Deadline: 0, IgnoreSystemJobs: true, ForceDeadline: null, StartedAt: null },
      MarkEligible: false,
      NodeEvent: null,
      UpdatedAt: this.nowMs / 1000,
      Meta: {},
      UpdatedBy: '',
    });
  }

  nodeDown(node: Node): void {
    this.nodeIs(node, 'down');
  }

  nodeIs(node: Node, Status: Node['Status']): void {
    fixtures.apply(this.state, 'NodeUpdateStatus', {
      NodeID: node.ID,
      Status,
      UpdatedAt: this.nowMs / 1000,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
  }

  register(job: Job): Job {
    const { verdict } = fixtures.apply(this.state, 'JobRegister', fixtures.aRegistration(job));
    if (verdict.kind === 'refused') throw new Error(verdict.error);
    return this.job(job.ID);
  }

  stopJob(JobID: string, Purge = false): void {
    fixtures.apply(
      this.state,
      'JobDeregister',
      { JobID, Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
  }

  job(id = 'web'): Job {
    const job = this.state.tables.jobs.get(namespacedKey('default', id));
    if (!job) throw new Error(`no job ${id}`);
    return job;
  }

  /** Stored allocations by name, then id. */
  allocs(): Allocation[] {
    return [...this.state.tables.allocs.all()].toSorted((a, b) => (a.Name + a.ID < b.Name + b.ID ? -1 : 1));
  }

  /** Names of what is to run and has not ended. */
  live(): string[] {
    return this.allocs()
      .filter((a) => a.DesiredStatus === 'run' && !['complete', 'failed', 'lost'].includes(a.ClientStatus))
      .map((a) => a.Name);
  }

  /** Every allocation that is to run does, and is healthy in its deployment. */
  allRunHealthy(): void {
    for (const alloc of this.allocs())
      if (alloc.DesiredStatus === 'run' && (alloc.ClientStatus === 'pending' || alloc.ClientStatus === 'running'))
        this.report(alloc, {
          ClientStatus: 'running',
          DeploymentStatus: { Healthy: true, Timestamp: new Date(this.nowMs).toISOString() },
        });
  }

  deployment(): Deployment | undefined {
    return [...this.state.tables.deployment.all()].toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0];
  }

  report(alloc: Allocation, over: Parameters<typeof fixtures.aClientUpdate>[1]): void {
    fixtures.apply(this.state, 'AllocClientUpdate', {
      Allocs: [fixtures.aClientUpdate(alloc, { ModifyTime: nsFromMs(this.nowMs), ...over })],
      Evals: [],
    });
  }

  migrate(alloc: Allocation): void {
    fixtures.apply(this.state, 'AllocUpdateDesiredTransition', {
      Transitions: { [alloc.ID]: { ...alloc.DesiredTransition, Migrate: true } },
      Evals: [],
    });
  }

  attempt(over: Partial<Evaluation> = {}): Attempt {
    const evaluation = fixtures.anEval(over);
    fixtures.apply(this.state, 'EvalUpdate', { Evals: [evaluation] });
    return this.attemptFor(evaluation);
  }

  attemptFor(evaluation: Evaluation): Attempt {
    const { tables, appliedIndex } = this.state;
    return schedule(schedulerTypeFor(evaluation, tables), {
      evaluation,
      tables,
      index: appliedIndex,
      nowNs: nsFromMs(this.nowMs),
      newId: this.newId,
    });
  }

  /** One pass whose plan is committed as it is. */
  run(over: Partial<Evaluation> = {}): Attempt {
    const attempt = this.attempt(over);
    if (!attempt.isNoop) this.commit(attempt);
    return attempt;
  }

  /** Passes until one changes nothing, everything placed becoming healthy in between. @returns how many it took */
  settle(over: Partial<Evaluation> = {}, limit = 20): number {
    for (let passes = 1; passes <= limit; passes++) {
      if (this.run({ TriggeredBy: 'deployment-watcher', ...over }).isNoop) return passes;
      this.allRunHealthy();
    }
    throw new Error(`not settled after ${limit} passes`);
  }

  commit({ plan }: Attempt): void {
    const Job = plan.Job && (this.state.tables.jobs.get(namespacedKey(plan.Job.Namespace, plan.Job.ID)) ?? null);
    const { verdict } = fixtures.apply(this.state, 'ApplyPlanResults', {
      ...fixtures.aPlanResult(),
      Job,
      AllocsUpdated: all(plan.NodeAllocation),
      AllocsStopped: all(plan.NodeUpdate),
      AllocsPreempted: all(plan.NodePreemptions),
      Deployment: plan.Deployment,
      DeploymentUpdates: plan.DeploymentUpdates,
      EvalID: plan.EvalID,
      FollowupEvals: plan.FollowupEvals,
      VolumeClaims: stickyClaims(this.state.tables, Job, all(plan.NodeAllocation), this.newId),
      UpdatedAt: nsFromMs(this.nowMs),
    });
    if (verdict.kind === 'refused') throw new Error(verdict.error);
  }
}

const all = <T>(byNode: Record<string, T[]>): T[] => Object.values(byNode).flat();

/** What a plan places and stops, in short. */
export function placedBy({ plan }: Attempt): Allocation[] {
  return all(plan.NodeAllocation);
}

export function stoppedBy({ plan }: Attempt): PlanResult['NodeUpdate'][string] {
  return all(plan.NodeUpdate);
}
