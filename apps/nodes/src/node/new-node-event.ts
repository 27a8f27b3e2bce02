import { type NodeEvent, rfc3339FromMs } from '@waybill/model';

/** An event about a node, made now; its index comes when it is applied. */
export function newNodeEvent(
  Subsystem: NodeEvent['Subsystem'],
  Message: string,
  nowMs: number,
  Details: NodeEvent['Details'] = null,
): NodeEvent {
  return { Message, Subsystem, Details, Timestamp: rfc3339FromMs(nowMs), CreateIndex: 0 };
}
