import { HTTP_STATUS_OF } from '@waybill/model';
import type { RoleEvent, RoleEventsTaken, RoleHolder } from '@waybill/rpc';
import type { NewRecord } from './audit-log.js';
import type { AuditAuth, AuditRequest, AuditResponse } from './audit-record.js';
import type { Recorder } from './request-audit.js';

/** The operation of everything that services do without a request of a user (AU-281). */
export const ROLE_OPERATION = 'ROLE';
const OK = 200;

type AuditLogOfRegion = Pick<Recorder, 'log' | 'region'>;

/** RoleRecords writes to the audit log what services did by themselves. */
export class RoleRecords {
  /** @param audit without parts if the audit log is off */
  constructor(private readonly audit: { readonly parts: { readonly recorder: AuditLogOfRegion } | undefined }) {}

  /**
   * Returns how many of the events need not be sent again: those before the first that could not be written, or all of
   * them if the audit log is off.
   */
  async take(events: readonly RoleEvent[]): Promise<RoleEventsTaken> {
    const { parts } = this.audit;
    if (!parts) return { Taken: events.length };
    const { log, region } = parts.recorder;
    for (const [Taken, event] of events.entries()) {
      const { record, isLeftOut } = log.record(roleRecord(event, region));
      if (isLeftOut) continue;
      try {
        await log.write(record);
      } catch {
        // The audit log has said in the log of the process why it fails.
        return { Taken };
      }
    }
    return { Taken: events.length };
  }
}

/** Returns the record of an event. It has one record, at its end (AU-259, AU-281). */
export function roleRecord(event: RoleEvent, region: string): NewRecord {
  return {
    stage: 'OperationComplete',
    auth: authOf(event),
    request: {
      id: event.ID,
      operation: ROLE_OPERATION,
      ...placeOf(event),
      namespace: { id: '' },
      region,
      request_meta: { remote_address: '', user_agent: '' },
      node_meta: { ip: '' },
    },
    response: responseOf(event),
    happened: { id: event.ID, timeMs: event.TimeMs },
  };
}

const authOf = (event: RoleEvent): AuditAuth =>
  event.Kind === 'registration'
    ? { accessor_id: `client:${event.NodeID}`, name: event.NodeName }
    : holderAuth(event.By);

const holderAuth = ({ Role, Epoch, Holder }: RoleHolder): AuditAuth => ({
  accessor_id: `role:${Role}`,
  epoch: Epoch,
  ...(Holder !== '' && { holder: Holder }),
});

function placeOf(event: RoleEvent): Pick<AuditRequest, 'endpoint' | 'object'> {
  switch (event.Kind) {
    case 'write': {
      const { TxnType, Object: written } = event;
      return { endpoint: TxnType, ...(written && { object: { kind: written.Kind, id: written.ID } }) };
    }
    case 'call':
      return { endpoint: event.Call, object: { kind: 'node', id: event.NodeID } };
    case 'registration':
      return { endpoint: 'NodeRegister', object: { kind: 'node', id: event.NodeID } };
  }
}

function responseOf(event: RoleEvent): AuditResponse {
  return {
    status_code: event.Error ? HTTP_STATUS_OF[event.Error.Code] : OK,
    ...(event.Error && { error: event.Error.Text }),
    ...(event.Kind === 'write' && { index: event.Index, request_id: event.RequestID }),
    ...(event.Kind === 'call' && { duration_ms: event.TookMs }),
  };
}
