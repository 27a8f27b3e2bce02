import { CORE_TYPE, type Evaluation, Refusal, NotHolderError } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import type { ReapRequest } from '@waybill/rpc';
import type { BlockedEvals } from './blocked/blocked-evals.js';
import { deletionsOf } from './housekeeping/deletions.js';
import type { EvalBroker } from './queue/eval-broker.js';
import { NotOutstandingError } from './queue/unacked-deliveries.js';
import type { BatchedEvalUpdates } from './batched-eval-updates.js';
import type { EvaluationTraces } from './evaluation-traces.js';

export interface WorkerWritesDeps {
  readonly state: ReplicatedState;
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly traces: EvaluationTraces;
  /** The current term, undefined between two terms. */
  readonly term: () => WritingTerm | undefined;
  /** Resolves when the read model has the index; absent in tests, which do not wait for it. @throws ReadModelBehindError */
  readonly waitUntilReadable?: (index: number) => Promise<void>;
}

export interface WritingTerm {
  readonly writer: HolderWriter;
  readonly updates: BatchedEvalUpdates;
  /** Whether this term raised the housekeeping evaluation. */
  readonly raised: (evaluation: Evaluation) => boolean;
}

/** A worker reports housekeeping that another term ordered (GC-7). */
export class NotOfThisTermError extends Refusal {
  override readonly name = 'NotOfThisTermError';
  constructor(readonly evalId: string) {
    super('conflict', 'housekeeping of another term');
  }
}

/**
 * Writes on behalf of workers, which never write to the log themselves. Each request proves by the token that its
 * delivery still lasts, and restarts the whole nack timeout (EB-87).
 */
export class WorkerWrites {
  constructor(private readonly deps: WorkerWritesDeps) {}

  /** Writes an evaluation as the worker left it (EB-214). @returns index of the transaction */
  async update(evals: readonly Evaluation[], token: string, workerSteps?: string): Promise<number> {
    const evaluation = onlyOne(evals, 'updated');
    const { deliveries } = this.deps.evals;
    deliveries.resetNackTimer(evaluation.ID, token);
    const steps = deliveries.stepsOf(evaluation.ID, token);
    steps.append(workerSteps);
    const { updates } = this.term(evaluation);
    return updates.write(evaluation, this.traceOf(evaluation), steps.takeOf(evaluation.ID));
  }

  /** Writes an evaluation that follows the delivered one (EB-215). @returns index of the transaction */
  async create(evals: readonly Evaluation[], token: string): Promise<number> {
    const { state, evals: broker } = this.deps;
    const evaluation = onlyOne(evals, 'created');
    broker.deliveries.resetNackTimer(evaluation.PreviousEval, token);
    if (evaluation.Type === CORE_TYPE) {
      broker.enqueue(evaluation); // Housekeeping is never written to the log (EB-151).
      return state.appliedIndex;
    }
    if (state.tables.evals.has(evaluation.ID)) throw new Refusal('invalid', 'evaluation already exists');
    const { writer } = this.term(evaluation);
    const traceparent = this.traceOf(evaluation);
    return writer.write('EvalUpdate', { Evals: [evaluation] }, evaluation.Namespace, { traceparent });
  }

  /** Returns an evaluation to the blocked tracker, in memory only (EB-216). */
  reblock(evals: readonly Evaluation[], token: string): void {
    const evaluation = onlyOne(evals, 'reblocked');
    this.deps.evals.deliveries.resetNackTimer(evaluation.ID, token);
    const row = this.deps.state.tables.evals.get(evaluation.ID);
    if (!row) throw new Refusal('invalid', 'evaluation does not exist');
    if (row.Status !== 'blocked') throw new Refusal('invalid', 'evaluation not blocked');
    this.deps.blocked.block(evaluation, token);
  }

  /**
   * Deletes the objects that a core evaluation of this term found (EB-152, EB-153), and resolves when the read model no
   * longer has them. A refusal, because an object is used or gone meanwhile, is no error (GC-68, GC-72).
   * @returns index of the transaction
   */
  async reap({ EvalID, Token, Reap, ScanIndex }: ReapRequest): Promise<number> {
    const { deliveries } = this.deps.evals;
    deliveries.resetNackTimer(EvalID, Token);
    const term = this.deps.term();
    if (!term?.raised(deliveries.evaluationOf(EvalID, Token))) throw new NotOfThisTermError(EvalID);
    let index = 0;
    for (const { type, payload, namespace } of deletionsOf(Reap, ScanIndex))
      index = await term.writer.write(type, payload, namespace).catch((error: unknown) => unlessRefused(error, index));
    await this.deps.waitUntilReadable?.(index);
    return index;
  }

  private term(evaluation: Evaluation): WritingTerm {
    const term = this.deps.term();
    if (!term) throw new NotOutstandingError(evaluation.ID);
    return term;
  }

  private traceOf({ ID, PreviousEval }: Evaluation): string | undefined {
    return this.deps.traces.traceparentOf(ID) ?? this.deps.traces.traceparentOf(PreviousEval);
  }
}

/** Accepts the refusal of a transaction that has become pointless. @throws any other error */
function unlessRefused<T>(error: unknown, otherwise: T): T {
  if (error instanceof Refusal && !(error instanceof NotHolderError)) return otherwise;
  throw error;
}

function onlyOne(evals: readonly Evaluation[], verb: string): Evaluation {
  const [evaluation] = evals;
  if (!evaluation || evals.length !== 1) throw new Refusal('invalid', `only a single eval can be ${verb}`);
  return evaluation;
}
