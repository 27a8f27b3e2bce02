import { encodeAllocMetric } from './encode-allocation.js';
import type { Evaluation, EvaluationStub } from '../evaluations/evaluation.js';
import { encodeMap, omitEmpty, type WireObject } from './wire-object.js';

/** Encodes an evaluation for clients, without zero members (EB-1) and without the internal token (EB-4). */
export function encodeEvaluation(evaluation: Evaluation): WireObject {
  return omitEmpty({
    ...evaluation,
    LeaderACL: '',
    FailedTGAllocs: encodeMap(evaluation.FailedTGAllocs, encodeAllocMetric),
  });
}

/** Encodes an evaluation for the list of related evaluations, always with all fields (EB-2). */
export function encodeEvaluationStub(evaluation: Evaluation): EvaluationStub {
  return {
    ID: evaluation.ID,
    Namespace: evaluation.Namespace,
    Priority: evaluation.Priority,
    Type: evaluation.Type,
    TriggeredBy: evaluation.TriggeredBy,
    JobID: evaluation.JobID,
    NodeID: evaluation.NodeID,
    DeploymentID: evaluation.DeploymentID,
    Status: evaluation.Status,
    StatusDescription: evaluation.StatusDescription,
    WaitUntil: evaluation.WaitUntil,
    NextEval: evaluation.NextEval,
    PreviousEval: evaluation.PreviousEval,
    BlockedEval: evaluation.BlockedEval,
    CreateIndex: evaluation.CreateIndex,
    ModifyIndex: evaluation.ModifyIndex,
    CreateTime: evaluation.CreateTime,
    ModifyTime: evaluation.ModifyTime,
  };
}
