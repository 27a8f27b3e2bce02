import type { Allocation, EvaluationTrace } from '@waybill/model';
import type { LoggedTxn, LogPage, ReadModel, TransactionLog } from '@waybill/projection';
import type { ObjectKind } from '@waybill/state';
import { relatedEvaluations } from '../evaluations/related-evaluations.js';
import { slowestAllocations } from './allocation-steps.js';
import { evaluationTrace } from './evaluation-trace.js';

/** The number of transactions of one object that are read. An evaluation has a handful. */
const MAX_TXNS = 1_000;
/** The number of allocations whose histories are read at the same time. */
const AT_ONCE = 5;

export interface TraceFound {
  /** The highest index of the data in the trace. */
  readonly index: number;
  /** The lowest index that the history keeps. */
  readonly floor: number;
  /** The trace. It is undefined if neither the state nor the history knows the evaluation. */
  readonly trace: EvaluationTrace | undefined;
  /** The namespace of the evaluation. It is undefined if there is no trace. */
  readonly namespace: string | undefined;
}

/**
 * TraceReader reads the data of an evaluation's trace: its history, its allocations with their histories, and the
 * history of its deployment (API-269). Cost: one page of history for each shown allocation.
 */
export class TraceReader {
  constructor(
    private readonly model: Pick<ReadModel, 'evaluation' | 'jobEvaluations' | 'evalAllocations'>,
    private readonly log: Pick<TransactionLog, 'page'>,
  ) {}

  /** @param allAllocations reads all allocations instead of only the slowest (CL-1043) */
  async readTrace(evalId: string, allAllocations: boolean): Promise<TraceFound> {
    const history = await this.readHistory('eval', evalId);
    const { row: evaluation } = await this.model.evaluation(evalId);
    const { floor, txns } = history;
    if (!evaluation && txns.length === 0)
      return { index: history.index, floor, trace: undefined, namespace: undefined };
    const placed = evaluation ? (await this.model.evalAllocations(evalId)).rows : [];
    const allocs = allAllocations ? placed : slowestAllocations(placed);
    const allocTxns = await this.allocationHistories(allocs);
    const deployment = evaluation?.DeploymentID;
    const deploymentTxns = deployment ? (await this.readHistory('deployment', deployment)).txns : [];
    const related = evaluation ? await relatedEvaluations(this.model, evaluation) : [];
    const trace = evaluationTrace({
      evalId,
      evaluation,
      related,
      txns,
      floor,
      placed,
      allocs,
      allocTxns,
      deploymentTxns,
    });
    const indexes = [history.index, ...deploymentTxns.map(({ index }) => index), ...placed.map((a) => a.ModifyIndex)];
    return { index: Math.max(...indexes), floor, trace, namespace: evaluation?.Namespace ?? txns[0]?.namespace };
  }

  private readHistory(kind: ObjectKind, id: string): Promise<LogPage> {
    return this.log.page({ namespaces: '*', kind, id, reverse: true, perPage: MAX_TXNS });
  }

  private async allocationHistories(allocs: readonly Allocation[]): Promise<Map<string, readonly LoggedTxn[]>> {
    const found = new Map<string, readonly LoggedTxn[]>();
    for (let from = 0; from < allocs.length; from += AT_ONCE) {
      const some = allocs.slice(from, from + AT_ONCE);
      await Promise.all(some.map(async ({ ID }) => found.set(ID, (await this.readHistory('alloc', ID)).txns)));
    }
    return found;
  }
}
