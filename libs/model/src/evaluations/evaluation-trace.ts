import type { EvaluationStub } from './evaluation.js';

/** A period, or a moment (`EndTime` 0), in the life of an evaluation. Times are in unix nanoseconds (API-269). */
export interface TraceStep {
  Time: number;
  EndTime: number;
  Service: string;
  Instance: string;
  Name: string;
  /** Index of the transaction, 0 for none. */
  Index: number;
  /** Whether the clock of an agent's machine measured the times, instead of the servers' clocks. */
  ClockSkewed: boolean;
  Details: Record<string, string>;
}

/** An evaluation of the same chain. `Started` is in unix nanoseconds, `Took` in nanoseconds. */
export interface RelatedEvaluation extends EvaluationStub {
  Started: number;
  Took: number;
}

/** The steps of an evaluation with their durations. */
export interface EvaluationTrace {
  EvalID: string;
  TraceID: string;
  /** Whether the transactions of all steps are still kept. */
  Complete: boolean;
  /** Ordered by time. */
  Steps: TraceStep[];
  Related: RelatedEvaluation[];
}
