import { CORE_TYPE, type Evaluation, Refusal, NotHolderError } from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import type { ReapRequest } from '@waybill/rpc';
import type { BlockedEvals } from './blocked/blocked-evals.js';
import { NotOfThisTermError, NotOutstandingError } from './queue/broker-errors.js';
import { deletionsOf } from './housekeeping/collected.js';
import type { EvalBroker } from './queue/eval-broker.js';
import type { JointUpdates } from './joint-updates.js';
import type { TraceMemory } from './trace-memory.js';

export interface WorkerWritesDeps {
  readonly state: ReplicatedState;
  readonly evals: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly traces: TraceMemory;
  /** Of the term, undefined between two of them. */
  readonly term: () => WritingTerm | undefined;
  /** Resolves when the read model has the index; without it nobody waits for that. @throws ReadModelBehindError */
  readonly readable?: (index: number) => Promise<void>;
}

export interface WritingTerm {
  readonly writer: HolderWriter;
  readonly updates: JointUpdates;
  /** Whether this term raised the housekeeping evaluation. */
  readonly raised: (evaluation: Evaluation) => boolean;
}

/**
 * What workers have written in the course of a delivery: they never write themselves. Each write proves by the token that
 * its delivery goes on, and gives the worker the whole nack timeout again (EB-87).
 */
export class WorkerWrites {
  constructor(private readonly deps: WorkerWritesDeps) {}

  /** EB-214. @param told the worker's steps @returns index of the transaction */
  async update(evals: readonly Evaluation[], token: string, told?: string): Promise<number> {
    const evaluation = onlyOne(evals, 'updated');
    const { deliveries } = this.deps.evals;
    deliveries.resetTimer(evaluation.ID, token);
    const steps = deliveries.steps(evaluation.ID, token);
    steps.append(told);
    const { updates } = this.term(evaluation);
    return updates.write(evaluation, this.traceOf(evaluation), steps.takeOf(evaluation.ID));
  }

  /** EB-215. @returns index of the transaction */
  async create(evals: readonly Evaluation[], token: string): Promise<number> {
    const { state, evals: broker } = this.deps;
    const evaluation = onlyOne(evals, 'created');
    broker.deliveries.resetTimer(evaluation.PreviousEval, token);
    if (evaluation.Type === CORE_TYPE) {
      broker.enqueue(evaluation); // EB-151: never committed
      return state.appliedIndex;
    }
    if (state.tables.evals.has(evaluation.ID)) throw new Refusal('invalid', 'evaluation already exists');
    const { writer } = this.term(evaluation);
    const traceparent = this.traceOf(evaluation);
    return writer.write('EvalUpdate', { Evals: [evaluation] }, evaluation.Namespace, { traceparent });
  }

  /** EB-216: back to the blocked tracker, in memory only. */
  reblock(evals: readonly Evaluation[], token: string): void {
    const evaluation = onlyOne(evals, 'reblocked');
    this.deps.evals.deliveries.resetTimer(evaluation.ID, token);
    const row = this.deps.state.tables.evals.get(evaluation.ID);
    if (!row) throw new Refusal('invalid', 'evaluation does not exist');
    if (row.Status !== 'blocked') throw new Refusal('invalid', 'evaluation not blocked');
    this.deps.blocked.block(evaluation, token);
  }

  /**
   * EB-152, EB-153: what a core evaluation of this term found. Answered when nobody reads it any more. What is refused,
   * because it is used or gone meanwhile, is no error (GC-68, GC-72).
   * @returns index of the transaction
   */
  async reap({ EvalID, Token, Reap, ScanIndex }: ReapRequest): Promise<number> {
    const { deliveries } = this.deps.evals;
    deliveries.resetTimer(EvalID, Token);
    const term = this.deps.term();
    if (!term?.raised(deliveries.verify(EvalID, Token))) throw new NotOfThisTermError(EvalID);
    let index = 0;
    for (const { type, payload, namespace } of deletionsOf(Reap, ScanIndex))
      index = await term.writer.write(type, payload, namespace).catch((error: unknown) => unlessRefused(error, index));
    await this.deps.readable?.(index);
    return index;
  }

  private term(evaluation: Evaluation): WritingTerm {
    const term = this.deps.term();
    if (!term) throw new NotOutstandingError(evaluation.ID);
    return term;
  }

  private traceOf({ ID, PreviousEval }: Evaluation): string | undefined {
    return this.deps.traces.of(ID) ?? this.deps.traces.of(PreviousEval);
  }
}

/** @throws error, if it is anything but the refusal of a transaction that has become pointless */
function unlessRefused<T>(error: unknown, otherwise: T): T {
  if (error instanceof Refusal && !(error instanceof NotHolderError)) return otherwise;
  throw error;
}

function onlyOne(evals: readonly Evaluation[], verb: string): Evaluation {
  const [evaluation] = evals;
  if (!evaluation || evals.length !== 1) throw new Refusal('invalid', `only a single eval can be ${verb}`);
  return evaluation;
}
