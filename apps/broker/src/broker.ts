import {
  defaultSchedulerConfiguration,
  nsFromMs,
  type Evaluation,
  type Plan,
  type PlanResult,
  type SchedulerConfiguration,
  type Variable,
  Refusal,
  NotHolderError,
} from '@waybill/model';
import type { HolderWriter, Singleton, Term } from '@waybill/roles';
import { NodeLoads, SINGLETON_KEY, type Applied, type Tables } from '@waybill/state';
import { SCHEDULER_VERSION } from '@waybill/rpc';
import { withSpan } from '@waybill/telemetry';
import { BlockedEvals } from './blocked/blocked-evals.js';
import type { Delivery, EvalRows } from './queue/delivery.js';
import { EvalBroker } from './queue/eval-broker.js';
import { EvalIndexes } from './queue/eval-indexes.js';
import { EvaluationFlow } from './evaluation-flow.js';
import { LostDeliveries } from './queue/lost-deliveries.js';
import { noMeter, type BrokerTimer, type Meter } from './meter.js';
import type { Launched } from './housekeeping/periodic-dispatcher.js';
import { jobVersionOf } from './plans/plan-applier.js';
import { PlanQueue } from './plans/plan-queue.js';
import { Session, type SessionDeps } from './session.js';
import { TraceMemory } from './trace-memory.js';
import { WorkerWrites } from './worker-writes.js';

/** How long somebody who asks is kept waiting for an index, ms. */
const REACH_TIMEOUT_MS = 4_000;

/** A dequeue that names no wait asks for this long (EB-64). */
export const DEFAULT_DEQUEUE_MS = 1_000;

/** Each term gets the same. */
export type BrokerDeps = SessionDeps;

export interface Dequeued {
  readonly evaluation: Evaluation;
  readonly token: string;
  readonly waitIndex: number;
  readonly dueNs: number;
  readonly traceparent: string | undefined;
}

/**
 * The holder of the role `broker`: hands out evaluations, keeps the blocked ones, judges and commits plans.
 *
 * Modes: idle → holding (start) → idle (stop). Everything in memory is rebuilt from state at the beginning of a term,
 * and follows the log through `applied` from there on: it is a function of the state and of the deliveries of this term
 * (EB-333). Idle, it holds nothing (EB-334). Cost of `applied`: that of the flow of evaluations.
 */
export class Broker implements Singleton {
  readonly role = 'broker';
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly plans = new PlanQueue();
  readonly writes: WorkerWrites;
  readonly lost: LostDeliveries;
  private readonly traces = new TraceMemory();
  private readonly tables: Tables;
  private session: Session | undefined;
  private readonly flow: EvaluationFlow;
  private readonly indexes: EvalIndexes;
  private readonly loads: NodeLoads;
  private readonly meter: Meter;
  private readonly defaultConfiguration: SchedulerConfiguration;

  constructor(private readonly deps: BrokerDeps) {
    this.tables = deps.state.tables;
    this.indexes = new EvalIndexes(this.tables);
    this.loads = new NodeLoads(this.tables);
    // By itself, not by our `applied`: when the term is over here, a plan may still be judged, and count in the log.
    deps.state.onApplied(this.loads.applied);
    this.meter = deps.meter ?? noMeter;
    this.defaultConfiguration = deps.defaultConfiguration ?? defaultSchedulerConfiguration();
    this.evals = new EvalBroker({ ...deps, rows: this.rows() }, deps.options);
    this.blocked = new BlockedEvals({
      clock: deps.clock,
      timers: deps.timers,
      enqueue: (batch) => this.evals.enqueueAll(batch),
      onDuplicate: () => this.session?.reapers.wakeCanceler(),
    });
    const { tables, evals, blocked, traces, defaultConfiguration } = this;
    this.flow = new EvaluationFlow({ tables, evals, blocked, traces, logger: deps.logger, defaultConfiguration });
    this.writes = new WorkerWrites({
      state: deps.state,
      evals,
      blocked,
      traces,
      readable: deps.readable,
      term: () => this.session,
    });
    this.lost = new LostDeliveries({
      timers: deps.timers,
      lasts: (evalId, token) => evals.deliveries.tokenOf(evalId) === token,
      giveBack: (evalId, token) => {
        deps.logger.warn('an evaluation is in nobody’s hands any more and is given to another worker', { evalId });
        this.takeBack(evalId, token);
      },
    });
  }

  /** The term has begun: this copy of the state has applied all that the predecessor got accepted (EB-135). */
  async start(term: Term): Promise<void> {
    const startedAt = this.deps.clock.nowMs();
    const { evals, blocked, plans, loads } = this;
    const session = new Session(this.deps, { evals, blocked, plans, loads }, term);
    this.session = session;
    this.flow.followPauseFlag();
    session.start();
    this.meter.observe('leader.barrier', term.barrierMs);
    this.meter.observe('leader.establish_leadership', this.deps.clock.nowMs() - startedAt);
    await this.writeFirstRows(session.writer);
    await session.firstRootKey.start();
  }

  /** After every transaction this copy applied, in order. */
  applied(applied: Applied): void {
    if (!this.session) return;
    for (const change of applied.changes) {
      this.indexes.changed(change);
      this.session.periodic.changed(change);
      this.session.variableLocks.changed(change);
    }
    this.flow.applied(applied);
  }

  /** The term is over. May be called at any time, any number of times (EB-141). */
  async stop(): Promise<void> {
    await this.timed('leader.revoke_leadership', () => this.revoke());
  }

  private async revoke(): Promise<void> {
    const { session } = this;
    this.session = undefined;
    session?.stop();
    this.plans.setEnabled(false);
    this.flow.off();
    this.lost.clear();
    this.indexes.clear();
    await session?.applierEnded;
    this.loads.clear();
  }

  /** Of the rejection tracker of this term, for metrics. */
  rejectionScores(): Iterable<[nodeId: string, score: number]> {
    return this.session?.rejections.scores() ?? [];
  }

  /** It holds the role and hands nothing out, because somebody wants it so (EB-124). */
  get isPaused(): boolean {
    return this.session !== undefined && !this.evals.isEnabled;
  }

  stats(): Record<string, number> {
    const { byScheduler: _, ...broker } = this.evals.stats();
    return { ...broker, ...this.blocked.stats(), planQueueDepth: this.plans.depth };
  }

  /** OP-21: whether evaluations are handed out, once this copy of the state has applied `index` and obeys it. */
  async enabledAt(index: number): Promise<boolean> {
    await this.deps.state.waitFor(index, REACH_TIMEOUT_MS);
    return this.evals.isEnabled;
  }

  // ---- what workers ask

  /** Null: nothing came up in time, or the broker was paused meanwhile (EB-63, EB-117). */
  async dequeue(
    types: readonly string[],
    timeoutMs: number,
    schedulerVersion = SCHEDULER_VERSION,
  ): Promise<Dequeued | null> {
    if (types.length === 0) throw new Refusal('invalid', 'dequeue requires at least one scheduler type');
    if (schedulerVersion !== SCHEDULER_VERSION)
      throw new Refusal(
        'invalid',
        `dequeue disallowed: calling scheduler version is ${schedulerVersion}; leader version is ${SCHEDULER_VERSION}`,
      );
    try {
      const delivery = await this.evals.dequeue(types, timeoutMs > 0 ? timeoutMs : DEFAULT_DEQUEUE_MS);
      return delivery && (await this.traced(delivery));
    } catch (error) {
      if (error instanceof NotHolderError) return null;
      throw error;
    }
  }

  /** For a worker that has just acked: no waiting, and its version is known. Null: nothing is ready. */
  async takeReady(types: readonly string[]): Promise<Dequeued | null> {
    const delivery = this.evals.takeReady(types);
    return delivery ? this.traced(delivery) : null;
  }

  ack(evalId: string, token: string): void {
    this.evals.ack(evalId, token);
    this.traces.forget(evalId);
    this.session?.reapers.wakeCanceler();
  }

  nack(evalId: string, token: string): void {
    this.evals.nack(evalId, token);
  }

  /** A delivery that reached nobody, or whose worker is gone; it may have ended otherwise meanwhile. */
  takeBack(evalId: string, token: string): void {
    if (this.evals.deliveries.tokenOf(evalId) === token) this.evals.nack(evalId, token);
  }

  /** EB-147. While paused nothing comes of it (EB-132). */
  forceGc(): void {
    this.session?.coreTimers.raise('force-gc');
  }

  /** A launch outside the schedule. @throws as PeriodicDispatcher.force; NotHolderError when the term is over */
  async forceLaunch(namespace: string, jobId: string, atIndex: number): Promise<Launched> {
    await this.deps.state.waitFor(atIndex, REACH_TIMEOUT_MS);
    if (!this.session) throw new NotHolderError('eval broker disabled');
    return this.session.periodic.force(namespace, jobId);
  }

  /**
   * Starts the time of a variable's lock anew, once this copy of the state has `atIndex` (OP-202).
   * @throws as VariableLocks.renew; NotHolderError when the term is over
   */
  async renewLock(namespace: string, path: string, lockId: string, atIndex: number): Promise<Variable> {
    await this.deps.state.waitFor(atIndex, REACH_TIMEOUT_MS);
    if (!this.session) throw new NotHolderError('nobody keeps the time of locks here');
    return this.session.variableLocks.renew(namespace, path, lockId);
  }

  /** EB-238 to EB-241. The nack timer rests until the answer. @param told the worker's steps */
  async submitPlan(plan: Plan, traceparent?: string, told?: string): Promise<PlanResult> {
    if (!this.session) throw new NotHolderError('plan queue is disabled');
    if (!plan) throw new Refusal('invalid', 'cannot submit nil plan');
    if (!plan.Job) throw new Refusal('invalid', 'cannot submit plan without job info');
    jobVersionOf(this.tables, plan);
    const { deliveries } = this.evals;
    deliveries.planBegins(plan.EvalID, plan.EvalToken);
    const steps = deliveries.steps(plan.EvalID, plan.EvalToken);
    steps.append(told);
    const startedAt = this.deps.clock.nowMs();
    try {
      return await this.plans.submit(plan, { traceparent, submittedMs: startedAt, steps });
    } finally {
      deliveries.planEnds(plan.EvalID, plan.EvalToken);
      this.meter.observe('plan.submit', this.deps.clock.nowMs() - startedAt);
    }
  }

  /** Runs it and gives its time to the meter, also if it fails. */
  async timed<T>(timer: BrokerTimer, run: () => T | Promise<T>): Promise<T> {
    const { clock } = this.deps;
    const startedAt = clock.nowMs();
    try {
      return await run();
    } finally {
      this.meter.observe(timer, clock.nowMs() - startedAt);
    }
  }

  // ---- own affairs

  /** EB-127: the first holder ever stores what a cluster starts with. */
  private async writeFirstRows(writer: HolderWriter): Promise<void> {
    if (!this.tables.cluster_meta.has(SINGLETON_KEY))
      await writer.write('ClusterMetadata', {
        ClusterID: this.deps.newId(),
        CreateTime: nsFromMs(this.deps.clock.nowMs()),
      });
    if (!this.tables.scheduler_config.has(SINGLETON_KEY))
      await writer.write('SchedulerConfig', { Config: this.defaultConfiguration, CAS: false, ModifyIndex: 0 });
  }

  private rows(): EvalRows {
    return {
      evaluation: (id) => this.tables.evals.get(id),
      highestEvalIndex: (namespace, jobId) => this.indexes.of(namespace, jobId),
    };
  }

  /** With the trace that the evaluation belongs to, in which its wait is a span. */
  private async traced({ evaluation, token, waitIndex, dueNs, enqueuedAtMs }: Delivery): Promise<Dequeued> {
    const traceparent = this.traces.of(evaluation.ID);
    const attributes = { 'eval.id': evaluation.ID, 'eval.type': evaluation.Type, 'job.id': evaluation.JobID };
    const options = { traceparent, startTimeMs: enqueuedAtMs, attributes };
    await withSpan(this.deps.tracer(), 'broker wait', options, () => {});
    return { evaluation, token, waitIndex, dueNs, traceparent };
  }
}
