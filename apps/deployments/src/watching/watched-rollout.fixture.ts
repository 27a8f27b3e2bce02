import { termOf } from '@waybill/roles';
import {
  FakeTime,
  nsFromMs,
  rfc3339FromMs,
  type Allocation,
  type DeploymentState,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import { LocalState } from '@waybill/replica';
import type { Regions } from '@waybill/rpc';
import { draftTxn, fixtures, serviceActor, type Applied, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { DeploymentWatchers } from './deployment-watchers.js';
import { OperatorCommands } from '../commands/operator-commands.js';

const { aDeployment, aDeploymentState, aGroup, aJob, anAlloc, anEval, aPlanResult, aRegistration } = fixtures;

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the fixture misses a row');
  return value;
}

/** Watchers over a local log and a clock that passes when told to. */
export class WatchedCluster {
  readonly time = new FakeTime();
  readonly state = new LocalState();
  readonly watchers: DeploymentWatchers;
  readonly commands: OperatorCommands;
  /** How far the clock was set forward, milliseconds; time passes as before. */
  clockAheadMs = 0;
  private ids = 0;
  private held = false;

  /** @param peers connections to other regions; none unless given */
  constructor(readsPerSecond?: number, peers?: Regions) {
    this.watchers = new DeploymentWatchers({
      state: this.state,
      clock: { nowMs: () => this.time.nowMs() + this.clockAheadMs },
      timers: this.time,
      newId: () => `watcher-${++this.ids}`,
      logger: silentLogger,
      region: 'global',
      ...(readsPerSecond !== undefined && { readsPerSecond }),
      ...(peers && { peers: { regions: peers, random: () => 0.5 } }),
    });
    this.commands = new OperatorCommands(() => this.watchers.watching);
    this.state.onApplied((applied) => this.held && this.watchers.applied(applied));
    this.write('Initialise', {});
  }

  /** Applied before it returns. */
  write<T extends TxnType>(type: T, payload: TxnPayloads[T]): Applied {
    const context = { timeNs: this.nowNs, requestId: `test-${++this.ids}`, actor: serviceActor('test') };
    void this.state.propose(draftTxn(type, payload, { ...context, namespace: 'default' }));
    const applied = present(this.state.history.at(-1));
    if (applied.verdict.kind === 'refused') throw new Error(applied.verdict.error);
    return applied;
  }

  get nowNs(): number {
    return nsFromMs(this.time.nowMs());
  }

  lead(): void {
    const epoch = this.state.machine.epochOf('deployments') + 1;
    this.write('LeaseAcquired', { Role: 'deployments', Epoch: epoch, Holder: 'test' });
    this.held = true;
    this.watchers.start(termOf('deployments', epoch));
  }

  follow(): void {
    this.held = false;
    this.watchers.stop();
  }

  /** A job of these groups, its deployment, and `placed` allocations of each. */
  rollout(
    groups: Record<string, Partial<DeploymentState> & { placed?: number; job?: Partial<TaskGroup> }>,
    over: { jobId?: string; job?: Partial<Job> } = {},
  ): Rollout {
    const names = Object.keys(groups);
    const TaskGroups = names.map((Name) => aGroup({ Name, Count: 3, ...groups[Name]?.job }));
    const job = this.register(aJob({ ID: over.jobId ?? 'web', TaskGroups, ...over.job }));
    const states = names.map((name) => {
      const { placed: _, job: __, ...state } = groups[name] ?? {};
      return [name, aDeploymentState({ DesiredTotal: 3, ...state })] as const;
    });
    const id = `deployment-${++this.ids}`;
    this.plan(job, {
      Deployment: aDeployment({
        ID: id,
        JobID: job.ID,
        JobVersion: job.Version,
        JobCreateIndex: job.CreateIndex,
        TaskGroups: Object.fromEntries(states),
      }),
    });
    const rollout = new Rollout(this, id, job);
    for (const name of names) rollout.place(name, groups[name]?.placed ?? 0);
    return rollout;
  }

  register(job: Job): Job {
    const evaluation = anEval({ ID: `register-${++this.ids}`, JobID: job.ID });
    this.write('JobRegister', aRegistration(job, { Eval: evaluation }));
    this.write('EvalUpdate', {
      Evals: [{ ...evaluation, Status: 'complete', SnapshotIndex: this.state.appliedIndex }],
    });
    return present(this.state.tables.jobs.get(`default/${job.ID}`));
  }

  plan(job: Job, over: Partial<TxnPayloads['ApplyPlanResults']>): Applied {
    const [evaluation] = this.state.tables.evals.by('job', `default/${job.ID}`);
    return this.write(
      'ApplyPlanResults',
      aPlanResult({ Job: job, EvalID: present(evaluation).ID, UpdatedAt: this.nowNs, ...over }),
    );
  }

  /** Transactions of this type that count, since `from`. */
  written<T extends TxnType>(type: T, from = 0): readonly TxnPayloads[T][] {
    return this.state.history
      .slice(from)
      .filter((applied) => applied.txn.type === type && applied.verdict.kind !== 'refused')
      .map((applied) => applied.txn.payload as TxnPayloads[T]);
  }
}

/** One deployment and what may become of it. */
export class Rollout {
  readonly allocs: Allocation[] = [];

  constructor(
    private readonly cluster: WatchedCluster,
    readonly id: string,
    readonly job: Job,
  ) {}

  get deployment() {
    return present(this.cluster.state.tables.deployment.get(this.id));
  }

  get jobNow() {
    return present(this.cluster.state.tables.jobs.get(`default/${this.job.ID}`));
  }

  place(TaskGroup: string, count: number, over: Partial<Allocation> = {}): Allocation[] {
    const canary = present(this.deployment.TaskGroups[TaskGroup]).DesiredCanaries > 0;
    const placed = Array.from({ length: count }, (_, i) =>
      anAlloc({
        ID: `alloc-${this.id}-${TaskGroup}-${this.allocs.length + i}`,
        Job: this.job,
        TaskGroup,
        DeploymentID: this.id,
        DeploymentStatus: canary ? { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 } : null,
        CreateTime: this.cluster.nowNs,
        ModifyTime: this.cluster.nowNs,
        ...over,
      }),
    );
    if (count > 0) this.cluster.plan(this.job, { AllocsUpdated: placed });
    this.allocs.push(...placed);
    return placed;
  }

  report(Healthy: boolean, ...allocs: (Allocation | undefined)[]): Applied {
    return this.cluster.write('AllocClientUpdate', {
      Allocs: allocs.map((alloc) =>
        fixtures.aClientUpdate(present(alloc), {
          ModifyTime: this.cluster.nowNs,
          DeploymentStatus: { Healthy, Timestamp: rfc3339FromMs(this.cluster.time.nowMs()) },
        }),
      ),
      Evals: [],
    });
  }

  /** Its machine is down. */
  lose(alloc: Allocation | undefined): Applied {
    const { ID } = present(alloc);
    return this.cluster.plan(this.job, {
      AllocsStopped: [
        {
          ID,
          DesiredDescription: 'lost',
          ClientStatus: 'lost',
          FollowupEvalID: '',
          RescheduleTracker: null,
          AllocStates: [],
        },
      ],
    });
  }

  /** Evaluations that a watcher or a command asked for. */
  get evaluations() {
    return [...this.cluster.state.tables.evals.by('deployment', this.id)].filter(
      (e) => e.TriggeredBy === 'deployment-watcher',
    );
  }
}
