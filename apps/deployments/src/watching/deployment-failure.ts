import { nsFromMs, type Clock, type Deployment } from '@waybill/model';
import type { Tables, TxnPayloads } from '@waybill/state';
import { autoRevert, NO_REVERT, type AutoRevert } from './auto-revert.js';
import { watcherEvaluation } from './rolled-out-job.js';

/** The facts that a failure is decided from. */
export interface FailureContext {
  readonly tables: Tables;
  readonly clock: Clock;
  readonly newId: () => string;
}

export interface Failure {
  readonly payload: TxnPayloads['DeploymentStatusUpdate'];
  readonly revert: AutoRevert;
}

/**
 * The transaction that fails a deployment: status, cause, evaluation, and the version to revert to (DP-801 to DP-806).
 * @throws UnknownJobError
 */
export function failureOf(
  { tables, clock, newId }: FailureContext,
  deployment: Deployment,
  cause: string,
  reverts: boolean,
): Failure {
  const revert = reverts ? autoRevert(tables, deployment) : NO_REVERT;
  const nowNs = nsFromMs(clock.nowMs());
  return {
    revert,
    payload: {
      Update: { DeploymentID: deployment.ID, Status: 'failed', StatusDescription: cause + revert.remark },
      UpdatedAt: nowNs,
      Eval: watcherEvaluation(tables, deployment, newId(), nowNs),
      ...revert.payload,
    },
  };
}
