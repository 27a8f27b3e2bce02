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
import { type DeliveryLease, SCHEDULER_VERSION } from '@waybill/rpc';
import { withSpan } from '@waybill/telemetry';
import { BlockedEvals } from './blocked/blocked-evals.js';
import { EvalBroker, type EvalRows } from './queue/eval-broker.js';
import type { Delivery } from './queue/waiting-dequeues.js';
import { WaitIndexes } from './wait-indexes.js';
import { EvaluationRouter } from './evaluation-router.js';
import { LostWorkers } from './lost-workers.js';
import { noMeter, type BrokerTimer, type Meter } from './meter.js';
import type { Launched } from './housekeeping/periodic-dispatcher.js';
import { jobVersionOf } from './plans/plan-applier.js';
import { PlanQueue } from './plans/plan-queue.js';
import { BrokerTerm, type BrokerTermDeps } from './broker-term.js';
import { EvaluationTraces } from './evaluation-traces.js';
import { WorkerWrites } from './worker-writes.js';

/** Longest time that a call waits until this copy of the state has applied an index, ms. */
export const REACH_TIMEOUT_MS = 4_000;

/** Timeout of a dequeue whose request names none (EB-64). */
export const DEFAULT_DEQUEUE_MS = 1_000;

/** Each term gets the same dependencies. */
export type BrokerDeps = BrokerTermDeps;

export interface Dequeued {
  readonly evaluation: Evaluation;
  readonly token: string;
  readonly waitIndex: number;
  /** The lease of the present term, as this copy of the state has it. */
  readonly lease: DeliveryLease | undefined;
  readonly dueNs: number;
  readonly traceparent: string | undefined;
}

/**
 * The holder of the role `broker`: delivers evaluations to workers, tracks the blocked ones, verifies and commits plans.
 *
 * Modes: idle → holding (`start`) → idle (`stop`). A term begins by building everything in memory from state; from there on
 * `applied` follows the log. The memory is a function of the state and of this term's deliveries (EB-333). Idle, the broker
 * holds nothing (EB-334). Cost of `applied`: see `EvaluationRouter`.
 */
export class Broker implements Singleton {
  readonly role = 'broker';
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly plans = new PlanQueue();
  readonly writes: WorkerWrites;
  readonly lostWorkers: LostWorkers;
  private readonly traces = new EvaluationTraces();
  private readonly tables: Tables;
  private term: BrokerTerm | undefined;
  private readonly router: EvaluationRouter;
  private readonly waitIndexes: WaitIndexes;
  private readonly loads: NodeLoads;
  private readonly meter: Meter;
  private readonly defaultConfiguration: SchedulerConfiguration;

  constructor(private readonly deps: BrokerDeps) {
    this.tables = deps.state.tables;
    this.waitIndexes = new WaitIndexes(this.tables);
    this.loads = new NodeLoads(this.tables);
    // Independent of our `applied`: after the end of the term here, a plan may still be verified, and count in the log.
    deps.state.onApplied(this.loads.applied);
    this.meter = deps.meter ?? noMeter;
    this.defaultConfiguration = deps.defaultConfiguration ?? defaultSchedulerConfiguration();
    this.evals = new EvalBroker({ ...deps, rows: this.rows() }, deps.options);
    this.blocked = new BlockedEvals({
      clock: deps.clock,
      timers: deps.timers,
      enqueue: (batch) => this.evals.enqueueAll(batch),
      onDuplicate: () => this.term?.reapers.wakeCanceler(),
    });
    const { tables, evals, blocked, traces, defaultConfiguration } = this;
    this.router = new EvaluationRouter({ tables, evals, blocked, traces, logger: deps.logger, defaultConfiguration });
    this.writes = new WorkerWrites({
      state: deps.state,
      evals,
      blocked,
      traces,
      waitUntilReadable: deps.waitUntilReadable,
      term: () => this.term,
    });
    this.lostWorkers = new LostWorkers({
      timers: deps.timers,
      isUnacked: (evalId, token) => evals.deliveries.tokenOf(evalId) === token,
      nack: (evalId, token) => {
        deps.logger.warn('the worker of an evaluation is lost, and another worker gets the evaluation', { evalId });
        this.nackIfUnacked(evalId, token);
      },
    });
  }

  /** Begins a term. This copy of the state has applied every transaction of the predecessor (EB-135). */
  async start(term: Term): Promise<void> {
    const startedAt = this.deps.clock.nowMs();
    const { evals, blocked, plans, loads } = this;
    const brokerTerm = new BrokerTerm(this.deps, { evals, blocked, plans, loads }, term);
    this.term = brokerTerm;
    this.router.applyPauseFlag();
    brokerTerm.start();
    this.meter.observe('leader.barrier', term.barrierMs);
    this.meter.observe('leader.establish_leadership', this.deps.clock.nowMs() - startedAt);
    await this.writeFirstRows(brokerTerm.writer);
    await brokerTerm.firstRootKey.start();
  }

  /** Follows the log: called after every transaction that this copy of the state has applied, in order. */
  applied(applied: Applied): void {
    if (!this.term) return;
    for (const change of applied.changes) {
      this.waitIndexes.changed(change);
      this.term.periodic.changed(change);
      this.term.variableLocks.changed(change);
    }
    this.router.applied(applied);
  }

  /** Ends the term. May be called at any time, any number of times (EB-141). */
  async stop(): Promise<void> {
    await this.timed('leader.revoke_leadership', () => this.revoke());
  }

  private async revoke(): Promise<void> {
    const { term } = this;
    this.term = undefined;
    term?.stop();
    this.plans.setEnabled(false);
    this.router.disable();
    this.lostWorkers.clear();
    this.waitIndexes.clear();
    await term?.applierEnded;
    this.loads.clear();
  }

  /** Scores of this term's rejection tracker, for metrics. */
  rejectionScores(): Iterable<[nodeId: string, score: number]> {
    return this.term?.rejections.scores() ?? [];
  }

  /** Whether this process holds the role and delivers nothing because an operator paused it (EB-124). */
  get isPaused(): boolean {
    return this.term !== undefined && !this.evals.isEnabled;
  }

  stats(): Record<string, number> {
    const { byScheduler: _, ...broker } = this.evals.stats();
    return { ...broker, ...this.blocked.stats(), planQueueDepth: this.plans.depth };
  }

  /** Whether evaluations are delivered, as of a state that has applied `index` (OP-21). */
  async enabledAt(index: number): Promise<boolean> {
    await this.deps.state.waitFor(index, REACH_TIMEOUT_MS);
    return this.evals.isEnabled;
  }

  // ---- requests of workers

  /** Null: no evaluation was ready in time, or the broker was paused meanwhile (EB-63, EB-117). */
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

  /** Dequeues without waiting, for a worker that has just acked and whose version is known. Null: none is ready. */
  async dequeueReady(types: readonly string[]): Promise<Dequeued | null> {
    const delivery = this.evals.dequeueReady(types);
    return delivery ? this.traced(delivery) : null;
  }

  ack(evalId: string, token: string): void {
    this.evals.ack(evalId, token);
    this.traces.forget(evalId);
    this.term?.reapers.wakeCanceler();
  }

  nack(evalId: string, token: string): void {
    this.evals.nack(evalId, token);
  }

  /** Nacks a delivery that reached no worker, or whose worker is lost, unless it has ended meanwhile. */
  nackIfUnacked(evalId: string, token: string): void {
    if (this.evals.deliveries.tokenOf(evalId) === token) this.evals.nack(evalId, token);
  }

  /** Raises a forced garbage collection (EB-147). It has no effect while the broker is paused (EB-132). */
  forceGc(): void {
    this.term?.coreTimers.raise('force-gc');
  }

  /** Launches a periodic job outside its schedule. @throws as PeriodicDispatcher.force; NotHolderError when the term is over */
  async forceLaunch(namespace: string, jobId: string, atIndex: number): Promise<Launched> {
    await this.deps.state.waitFor(atIndex, REACH_TIMEOUT_MS);
    if (!this.term) throw new NotHolderError('eval broker disabled');
    return this.term.periodic.force(namespace, jobId);
  }

  /**
   * Renews a variable's lock, once this copy of the state has applied `atIndex` (OP-202).
   * @throws as VariableLocks.renew; NotHolderError when the term is over
   */
  async renewLock(namespace: string, path: string, lockId: string, atIndex: number): Promise<Variable> {
    await this.deps.state.waitFor(atIndex, REACH_TIMEOUT_MS);
    if (!this.term) throw new NotHolderError('nobody keeps the time of locks here');
    return this.term.variableLocks.renew(namespace, path, lockId);
  }

  /** Submits a plan (EB-238 to EB-241). The nack timer is paused until the answer. @param workerSteps the worker's steps */
  async submitPlan(plan: Plan, traceparent?: string, workerSteps?: string): Promise<PlanResult> {
    if (!this.term) throw new NotHolderError('plan queue is disabled');
    if (!plan) throw new Refusal('invalid', 'cannot submit nil plan');
    if (!plan.Job) throw new Refusal('invalid', 'cannot submit plan without job info');
    jobVersionOf(this.tables, plan);
    const { deliveries } = this.evals;
    deliveries.beginPlan(plan.EvalID, plan.EvalToken);
    const steps = deliveries.stepsOf(plan.EvalID, plan.EvalToken);
    steps.append(workerSteps);
    const startedAt = this.deps.clock.nowMs();
    try {
      return await this.plans.submit(plan, { traceparent, submittedMs: startedAt, steps });
    } finally {
      deliveries.endPlan(plan.EvalID, plan.EvalToken);
      this.meter.observe('plan.submit', this.deps.clock.nowMs() - startedAt);
    }
  }

  /** Gives the time that `action` takes to the meter, also if it fails. */
  async timed<T>(timer: BrokerTimer, action: () => T | Promise<T>): Promise<T> {
    const { clock } = this.deps;
    const startedAt = clock.nowMs();
    try {
      return await action();
    } finally {
      this.meter.observe(timer, clock.nowMs() - startedAt);
    }
  }

  // ----

  /** Stores the rows that a new cluster starts with; only the first holder ever finds them missing (EB-127). */
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
      highestEvalIndex: (namespace, jobId) => this.waitIndexes.highestOf(namespace, jobId),
    };
  }

  /** Adds the trace that the evaluation belongs to, and records the wait as a span of it. */
  private async traced({ evaluation, token, waitIndex, dueNs, enqueuedAtMs }: Delivery): Promise<Dequeued> {
    const traceparent = this.traces.traceparentOf(evaluation.ID);
    const attributes = { 'eval.id': evaluation.ID, 'eval.type': evaluation.Type, 'job.id': evaluation.JobID };
    const options = { traceparent, startTimeMs: enqueuedAtMs, attributes };
    await withSpan(this.deps.tracer(), 'broker wait', options, () => {});
    const row = this.tables.leases.get('broker');
    const lease = row && { Epoch: row.Epoch, Index: row.ModifyIndex };
    return { evaluation, token, waitIndex, lease, dueNs, traceparent };
  }
}
