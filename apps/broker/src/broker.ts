import {
  CORE_TYPE,
  defaultSchedulerConfiguration,
  nsFromMs,
  type Evaluation,
  type Plan,
  type PlanResult,
} from '@waybill/model';
import { WriteRejectedError, type HolderWriter, type Singleton, type Term } from '@waybill/lease';
import { NodeLoads, SINGLETON_KEY, type Applied, type Tables } from '@waybill/state';
import { SCHEDULER_VERSION, type ReapRequest } from '@waybill/rpc';
import { withSpan } from '@waybill/telemetry';
import { BlockedEvals } from './blocked-evals.js';
import {
  BadRequestError,
  BrokerDisabledError,
  NotOfThisTermError,
  NotOutstandingError,
  PlanQueueDisabledError,
  PlanRefusedError,
} from './broker-errors.js';
import { deletionsOf } from './collected.js';
import type { Delivery, EvalRows } from './delivery.js';
import { EvalBroker } from './eval-broker.js';
import { jobVersionOf } from './plan-applier.js';
import { EvalIndexes } from './eval-indexes.js';
import { noMeter, type BrokerTimer, type Meter } from './meter.js';
import type { Launched } from './periodic-dispatcher.js';
import { PlanQueue } from './plan-queue.js';
import { Session, type SessionDeps } from './session.js';
import { signalsOf, type Signal } from './signals.js';
import { TraceMemory } from './trace-memory.js';

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
  readonly traceparent: string | undefined;
}

/**
 * The holder of the role `broker`: hands out evaluations, keeps the blocked ones, judges and commits plans.
 *
 * Modes: idle → holding (start) → idle (stop); while holding, the evaluation broker and the blocked tracker are enabled
 * or paused, as the stored scheduler configuration says (EB-124). Everything in memory is rebuilt from the evaluations
 * table when they are enabled, and follows the log through `applied` from there on: it is a function of the state and of
 * the deliveries of this term (EB-333). Idle, it holds nothing (EB-334).
 * Cost of `applied`: what the transaction touched, and for a class that gained capacity the blocked evaluations.
 */
export class Broker implements Singleton {
  readonly role = 'broker';
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly plans = new PlanQueue();
  private readonly traces = new TraceMemory();
  private readonly tables: Tables;
  private session: Session | undefined;
  private readonly indexes: EvalIndexes;
  private readonly loads: NodeLoads;
  private readonly meter: Meter;

  constructor(private readonly deps: BrokerDeps) {
    this.tables = deps.state.tables;
    this.indexes = new EvalIndexes(this.tables);
    this.loads = new NodeLoads(this.tables);
    this.meter = deps.meter ?? noMeter;
    this.evals = new EvalBroker({ ...deps, rows: this.rows() }, deps.options);
    this.blocked = new BlockedEvals({
      clock: deps.clock,
      timers: deps.timers,
      enqueue: (batch) => this.evals.enqueueAll(batch),
      onDuplicate: () => this.session?.reapers.wakeCanceler(),
    });
  }

  /** The term has begun: this copy of the state has applied all that the predecessor got accepted (EB-135). */
  async start(term: Term): Promise<void> {
    const startedAt = this.deps.clock.nowMs();
    const { evals, blocked, plans, loads } = this;
    const session = new Session(this.deps, { evals, blocked, plans, loads }, term);
    this.session = session;
    this.followPauseFlag();
    session.start();
    this.meter.observe('leader.barrier', term.barrierMs);
    this.meter.observe('leader.establish_leadership', this.deps.clock.nowMs() - startedAt);
    await this.writeFirstRows(session.writer);
  }

  /** After every transaction this copy applied, in order. */
  applied(applied: Applied): void {
    if (!this.session) return;
    for (const change of applied.changes) {
      this.indexes.changed(change);
      this.loads.changed(change);
      this.session.periodic.changed(change);
    }
    if (applied.changes.some((c) => c.table === 'scheduler_config')) this.followPauseFlag();
    for (const signal of signalsOf(applied, this.tables)) this.take(signal, applied);
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
    this.evals.setEnabled(false);
    this.blocked.setEnabled(false);
    this.traces.clear();
    this.indexes.clear();
    this.loads.clear();
    await session?.applierEnded;
  }

  /** Of the rejection tracker of this term, for metrics. */
  rejectionScores(): Iterable<[nodeId: string, score: number]> {
    return this.session?.rejections.scores() ?? [];
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
    if (types.length === 0) throw new BadRequestError('dequeue requires at least one scheduler type');
    if (schedulerVersion !== SCHEDULER_VERSION)
      throw new BadRequestError(
        `dequeue disallowed: calling scheduler version is ${schedulerVersion}; leader version is ${SCHEDULER_VERSION}`,
      );
    try {
      const delivery = await this.evals.dequeue(types, timeoutMs > 0 ? timeoutMs : DEFAULT_DEQUEUE_MS);
      return delivery && (await this.traced(delivery));
    } catch (error) {
      if (error instanceof BrokerDisabledError) return null;
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

  /** A delivery that reached nobody; it may have ended otherwise meanwhile. */
  takeBack(evalId: string, token: string): void {
    if (this.evals.deliveries.tokenOf(evalId) === token) this.evals.nack(evalId, token);
  }

  /** EB-214. @returns index of the transaction */
  async updateEval(evals: readonly Evaluation[], token: string): Promise<number> {
    const evaluation = onlyOne(evals, 'updated');
    this.evals.deliveries.resetTimer(evaluation.ID, token);
    return this.writeEval(evaluation);
  }

  /** EB-215. @returns index of the transaction */
  async createEval(evals: readonly Evaluation[], token: string): Promise<number> {
    const evaluation = onlyOne(evals, 'created');
    this.evals.deliveries.resetTimer(evaluation.PreviousEval, token);
    if (evaluation.Type === CORE_TYPE) {
      this.evals.enqueue(evaluation); // EB-151: never committed
      return this.deps.state.appliedIndex;
    }
    if (this.tables.evals.has(evaluation.ID)) throw new BadRequestError('evaluation already exists');
    return this.writeEval(evaluation);
  }

  /** EB-216: back to the blocked tracker, in memory only. */
  reblockEval(evals: readonly Evaluation[], token: string): void {
    const evaluation = onlyOne(evals, 'reblocked');
    this.evals.deliveries.resetTimer(evaluation.ID, token);
    const row = this.tables.evals.get(evaluation.ID);
    if (!row) throw new BadRequestError('evaluation does not exist');
    if (row.Status !== 'blocked') throw new BadRequestError('evaluation not blocked');
    this.blocked.block(evaluation, token);
  }

  /**
   * EB-152, EB-153: what a core evaluation of this term found. Answered when nobody reads it any more. What is refused,
   * because it is used or gone meanwhile, is no error (GC-68, GC-72).
   * @returns index of the transaction
   */
  async reap({ EvalID, Token, Reap, ScanIndex }: ReapRequest): Promise<number> {
    this.evals.deliveries.resetTimer(EvalID, Token);
    if (!this.session?.coreTimers.raised(this.evals.deliveries.verify(EvalID, Token)))
      throw new NotOfThisTermError(EvalID);
    const { writer } = this.session;
    let index = 0;
    for (const { type, payload, namespace } of deletionsOf(Reap, ScanIndex))
      index = await writer.write(type, payload, namespace).catch((error: unknown) => unlessRefused(error, index));
    await this.deps.readable?.(index);
    return index;
  }

  /** EB-147. While paused nothing comes of it (EB-132). */
  forceGc(): void {
    this.session?.coreTimers.raise('force-gc');
  }

  /** A launch outside the schedule. @throws as PeriodicDispatcher.force; BrokerDisabledError when the term is over */
  async forceLaunch(namespace: string, jobId: string, atIndex: number): Promise<Launched> {
    await this.deps.state.waitFor(atIndex, REACH_TIMEOUT_MS);
    if (!this.session) throw new BrokerDisabledError();
    return this.session.periodic.force(namespace, jobId);
  }

  /** EB-238 to EB-241. The nack timer rests until the answer. */
  async submitPlan(plan: Plan, traceparent?: string): Promise<PlanResult> {
    if (!this.session) throw new PlanQueueDisabledError();
    if (!plan) throw new PlanRefusedError('cannot submit nil plan');
    if (!plan.Job) throw new PlanRefusedError('cannot submit plan without job info');
    jobVersionOf(this.tables, plan);
    this.evals.deliveries.pauseTimer(plan.EvalID, plan.EvalToken);
    const startedAt = this.deps.clock.nowMs();
    try {
      return await this.plans.submit(plan, traceparent);
    } finally {
      this.evals.deliveries.resumeTimer(plan.EvalID, plan.EvalToken);
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

  private take(signal: Signal, applied: Applied): void {
    switch (signal.kind) {
      case 'enqueue':
        this.traces.remember(signal.evaluation.ID, applied.txn.traceparent);
        this.evals.enqueue(signal.evaluation);
        return;
      case 'block':
        this.blocked.block(signal.evaluation);
        return;
      case 'untrack':
        this.blocked.untrack(signal.namespace, signal.jobId);
        return;
      case 'drop':
        this.evals.drop(signal.evalId);
        return;
      case 'unblockClass':
        this.blocked.unblockClass(signal.computedClass, applied.index);
        return;
      case 'unblockNode':
        this.blocked.unblockNode(signal.nodeId);
        return;
      case 'unblockResources':
        this.blocked.unblockResources(signal.names, applied.index);
        return;
    }
  }

  /** EB-124, EB-128: by comparing the flag with what is. Enabling builds everything from state, once. */
  private followPauseFlag(): void {
    const enabled = !(this.tables.scheduler_config.get(SINGLETON_KEY)?.PauseEvalBroker ?? false);
    if (enabled === this.evals.isEnabled) return;
    this.evals.setEnabled(enabled);
    this.blocked.setEnabled(enabled);
    this.deps.logger.info(enabled ? 'evaluation broker enabled' : 'evaluation broker paused');
    if (enabled) this.restore();
  }

  /** EB-136. O(evaluations that have not ended), once per term or pause. */
  private restore(): void {
    this.evals.restore(this.tables.evals.by('status', 'pending'));
    for (const evaluation of this.tables.evals.by('status', 'blocked')) this.blocked.block(evaluation);
  }

  /** EB-127: the first holder ever stores what a cluster starts with. */
  private async writeFirstRows(writer: HolderWriter): Promise<void> {
    if (!this.tables.cluster_meta.has(SINGLETON_KEY))
      await writer.write('ClusterMetadata', {
        ClusterID: this.deps.newId(),
        CreateTime: nsFromMs(this.deps.clock.nowMs()),
      });
    if (!this.tables.scheduler_config.has(SINGLETON_KEY))
      await writer.write('SchedulerConfig', { Config: defaultSchedulerConfiguration(), CAS: false, ModifyIndex: 0 });
  }

  private async writeEval(evaluation: Evaluation): Promise<number> {
    if (!this.session) throw new NotOutstandingError(evaluation.ID);
    const traceparent = this.traces.of(evaluation.ID) ?? this.traces.of(evaluation.PreviousEval);
    return this.session.writer.write('EvalUpdate', { Evals: [evaluation] }, evaluation.Namespace, { traceparent });
  }

  private rows(): EvalRows {
    return {
      evaluation: (id) => this.tables.evals.get(id),
      highestEvalIndex: (namespace, jobId) => this.indexes.of(namespace, jobId),
    };
  }

  /** With the trace that the evaluation belongs to, in which its wait is a span. */
  private async traced({ evaluation, token, waitIndex, enqueuedAtMs }: Delivery): Promise<Dequeued> {
    const traceparent = this.traces.of(evaluation.ID);
    const attributes = { 'eval.id': evaluation.ID, 'eval.type': evaluation.Type, 'job.id': evaluation.JobID };
    const options = { traceparent, startTimeMs: enqueuedAtMs, attributes };
    await withSpan(this.deps.tracer(), 'broker wait', options, () => {});
    return { evaluation, token, waitIndex, traceparent };
  }
}

/** @throws error, if it is anything but the refusal of a transaction that has become pointless */
function unlessRefused<T>(error: unknown, otherwise: T): T {
  if (error instanceof WriteRejectedError && error.kind === 'refused') return otherwise;
  throw error;
}

function onlyOne(evals: readonly Evaluation[], verb: string): Evaluation {
  const [evaluation] = evals;
  if (!evaluation || evals.length !== 1) throw new BadRequestError(`only a single eval can be ${verb}`);
  return evaluation;
}
