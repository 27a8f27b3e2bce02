import type { EvaluationStub } from './evaluation.js';

/** A stretch of time, or a moment (`EndTime` 0), in the life of an evaluation; times are unix nanoseconds (API-269). */
export interface TraceStep {
  Time: number;
  EndTime: number;
  Service: string;
  Instance: string;
  Name: string;
  /** Of the transaction; 0: none. */
  Index: number;
  /** Measured by the clock of a machine that runs tasks, not by the servers'. */
  ClockSkewed: boolean;
  Details: Record<string, string>;
}

/** `Started` unix nanoseconds, `Took` nanoseconds. */
export interface RelatedEvaluation extends EvaluationStub {
  Started: number;
  Took: number;
}

/** Where an evaluation spent its time. */
export interface EvaluationTrace {
  EvalID: string;
  TraceID: string;
  /** Whether the transactions of all steps are still kept. */
  Complete: boolean;
  /** In the order of time. */
  Steps: TraceStep[];
  Related: RelatedEvaluation[];
}
