import { type NodeEvent, rfc3339FromMs } from '@waybill/model';

/** A new event about a node; the state machine sets its index. */
export function newNodeEvent(
  Subsystem: NodeEvent['Subsystem'],
  Message: string,
  nowMs: number,
  Details: NodeEvent['Details'] = null,
): NodeEvent {
  return { Message, Subsystem, Details, Timestamp: rfc3339FromMs(nowMs), CreateIndex: 0 };
}
