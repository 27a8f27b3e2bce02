import type { RefusalCode } from '@waybill/model';
import type { Role } from '@waybill/state';
import { call } from './call.js';

/** Most events in one call. */
export const MAX_ROLE_EVENTS = 100;

/** The holder of a role, for the audit log (AU-259). */
export interface RoleHolder {
  readonly Role: Role;
  readonly Epoch: number;
  /** Empty if it is not known: the fence of a transaction does not name the process. */
  readonly Holder: string;
}

/** Why the event was refused. */
export interface RoleEventError {
  readonly Code: RefusalCode;
  readonly Text: string;
}

interface RoleEventBase {
  readonly ID: string;
  /** Unix ms. */
  readonly TimeMs: number;
  /** Absent if nothing was refused. */
  readonly Error?: RoleEventError | undefined;
}

/** A transaction that the holder of a role wrote for itself, or that was void because its fence was too old. */
export interface RoleWrite extends RoleEventBase {
  readonly Kind: 'write';
  readonly By: RoleHolder;
  readonly TxnType: string;
  /** The only object of the transaction, if it has one. */
  readonly Object?: { readonly Kind: string; readonly ID: string } | undefined;
  readonly Index: number;
  readonly RequestID: string;
}

/** A call that the holder of a role made to a machine. */
export interface RoleCall extends RoleEventBase {
  readonly Kind: 'call';
  readonly By: RoleHolder;
  readonly Call: string;
  readonly NodeID: string;
  readonly TookMs: number;
}

/** A machine that was not registered. */
export interface RefusedRegistration extends RoleEventBase {
  readonly Kind: 'registration';
  readonly NodeID: string;
  readonly NodeName: string;
  readonly Error: RoleEventError;
}

/** What services do without a request of a user, for the audit log (AU-281). No member may contain a secret. */
export type RoleEvent = RoleWrite | RoleCall | RefusedRegistration;

export interface RoleEventsTaken {
  /** The number of events, from the first one, that are recorded or that nobody wants recorded. */
  readonly Taken: number;
}

/** Asks any API to record the events in its audit log, in order. An API without one takes all events and forgets them. */
export const recordRoleEvents = call<readonly RoleEvent[], RoleEventsTaken>('api.recordRoleEvents');
