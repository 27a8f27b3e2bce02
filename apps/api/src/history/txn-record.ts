import type { WireObject } from '@waybill/model';
import type { LoggedObject, LoggedTxn } from '@waybill/projection';
import { objectDiff } from './object-encoding.js';

/** A transaction as clients see it (API-266). */
export function txnRecord(txn: LoggedTxn): WireObject {
  const [, TraceID = '', SpanID = ''] = txn.traceparent.split('-');
  return {
    Index: txn.index,
    Time: txn.timeNs,
    MsgType: txn.type,
    Name: txn.name,
    Region: txn.region,
    Namespace: txn.namespace,
    Actor: txn.actor,
    RequestID: txn.requestId,
    Reason: txn.reason,
    TraceID,
    SpanID,
    Role: txn.role,
    Epoch: txn.epoch,
    Verdict: txn.verdict,
    Error: txn.error,
    Objects: txn.objects.map(changedObject),
  };
}

function changedObject({ kind, namespace, id, op, change, states }: LoggedObject): WireObject {
  return {
    Kind: kind,
    Namespace: namespace,
    ID: id,
    Op: op,
    Change: change,
    ...(states && { Diff: objectDiff(kind, states.before, states.after) }),
  };
}
