import type { EvaluationTrace } from '@waybill/model';
import { type Answer, headerText } from '../server/api-client.js';
import { isNotFound } from '../server/api-failure.js';
import type { Call } from '../command-spec.js';
import type { EvaluationAnswer } from './evaluation-table.js';
import { failed } from '../failure.js';
import { withoutLog } from '../history/log-query.js';

/** An evaluation and its timeline. */
export interface TracedEvaluation {
  readonly trace: EvaluationTrace;
  /** The trace, as the API sent it. */
  readonly answer: Answer<EvaluationTrace>;
  /** Lowest index with records in the log. 0 if unknown. */
  readonly floor: number;
  /** Undefined if the evaluation has been collected. */
  readonly evaluation: EvaluationAnswer | undefined;
}

/**
 * Reads the trace of an evaluation and the evaluation itself (CL-1048). Returns undefined if neither exists. @throws
 * CommandFailure
 */
export async function readTrace(
  { api }: Pick<Call, 'api'>,
  id: string,
  allocs: boolean,
): Promise<TracedEvaluation | undefined> {
  const answer = await ifThere(
    'querying trace',
    api.get<EvaluationTrace>(`/v1/waybill/trace/evaluation/${id}`, allocs ? { allocs } : {}),
  );
  if (!answer) return undefined;
  const evaluation = await ifThere('querying evaluation', api.get<EvaluationAnswer>(`/v1/evaluation/${id}`));
  const floor = Number(headerText(answer.headers, 'x-waybill-log-floor') || 0);
  return { trace: answer.value, answer, floor, evaluation: evaluation?.value };
}

async function ifThere<T>(doing: string, answer: Promise<Answer<T>>): Promise<Answer<T> | undefined> {
  try {
    return await answer;
  } catch (error) {
    const noLog = withoutLog(error);
    if (noLog) throw noLog;
    if (isNotFound(error)) return undefined;
    throw failed(doing, error);
  }
}
