import { type Clock, errorText, Refusal } from '@waybill/model';
import type { Singleton, Term } from '@waybill/roles';
import {
  type AskOptions,
  type Call,
  type CallFence,
  isNobodyThere,
  type RoleEventError,
  type RoleHolder,
  type RoleWrite,
  type Rpc,
} from '@waybill/rpc';
import type { Applied, Txn } from '@waybill/state';
import type { NewRoleEvent, RecordsRoleEvents } from './role-audit.js';

/**
 * Returns the singleton, whose holder also records for the audit log what the log says of its role (AU-281). Only the
 * present holder records, so that each transaction is recorded once, and a deposed process does not decide whether its
 * own refusal is recorded. Transactions of the time without a holder are not recorded.
 */
export function auditedRole(singleton: Singleton, audit: RecordsRoleEvents): Singleton {
  let term: Term | undefined;
  return {
    role: singleton.role,
    start(begun) {
      term = begun;
      return singleton.start(begun);
    },
    applied(applied) {
      const event = term && roleWriteOf(applied, term);
      if (event) audit.record(event);
      singleton.applied(applied);
    },
    stop() {
      term = undefined;
      return singleton.stop();
    },
    stats: () => singleton.stats(),
  };
}

/**
 * Returns the event for a transaction whose fence was refused (AU-255), and for one by which the holder itself changed a
 * root key or deleted expired tokens. Undefined for every other transaction: who asked for it is recorded at the API, and
 * what it did is in the log.
 */
export function roleWriteOf(
  { txn, index, verdict }: Applied,
  { role, epoch, holder }: Pick<Term, 'role' | 'epoch' | 'holder'>,
): NewRoleEvent | undefined {
  if (txn.fence?.role !== role) return undefined;
  const write = { Kind: 'write', TxnType: txn.type, Index: index, RequestID: txn.requestId } as const;
  if (verdict.kind === 'void') {
    const Error: RoleEventError = {
      Code: 'forbidden',
      Text: `${verdict.error}: ${holder} holds the role ${role} with epoch ${epoch}`,
    };
    return { ...write, By: { Role: role, Epoch: txn.fence.epoch, Holder: '' }, Object: objectOf(txn), Error };
  }
  if (verdict.kind !== 'accepted' || txn.actor.Kind !== 'role' || !isAudited(txn)) return undefined;
  return { ...write, By: { Role: role, Epoch: epoch, Holder: holder }, Object: objectOf(txn) };
}

function isAudited(txn: Txn): boolean {
  switch (txn.type) {
    case 'RootKeyUpsert':
    case 'RootKeyRewrap':
    case 'RootKeyDelete':
    case 'OneTimeTokenExpire':
      return true;
    case 'ACLTokenDelete':
      return txn.payload.ExpiredBy !== undefined;
    default:
      return false;
  }
}

function objectOf(txn: Txn): RoleWrite['Object'] {
  switch (txn.type) {
    case 'RootKeyUpsert':
      return { Kind: 'root-key', ID: txn.payload.Key.KeyID };
    case 'RootKeyRewrap':
    case 'RootKeyDelete':
      return { Kind: 'root-key', ID: txn.payload.KeyID };
    case 'ACLTokenDelete': {
      const [only, ...others] = txn.payload.AccessorIDs;
      return only === undefined || others.length > 0 ? undefined : { Kind: 'token', ID: only };
    }
    default:
      return undefined;
  }
}

/** Rpc that records the calls that the holder of a role makes to machines (AU-259). */
export class AuditedCalls implements Rpc {
  constructor(
    private readonly rpc: Rpc,
    private readonly audit: RecordsRoleEvents,
    private readonly clock: Clock,
  ) {}

  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    const { authority, target } = options;
    if (!authority || !('fence' in authority) || target === undefined) return this.rpc.ask(call, request, options);
    const startMs = this.clock.nowMs();
    const record = (Error: RoleEventError | undefined): void =>
      this.audit.record({
        Kind: 'call',
        By: holderOf(authority.fence),
        Call: call.name,
        NodeID: target,
        TookMs: Math.max(0, this.clock.nowMs() - startMs),
        Error,
      });
    try {
      const answer = await this.rpc.ask(call, request, options);
      record(undefined);
      return answer;
    } catch (error) {
      record(eventErrorOf(error));
      throw error;
    }
  }
}

const holderOf = ({ Role, Epoch, Holder }: CallFence): RoleHolder => ({ Role, Epoch, Holder });

/** Longest text of an error in an event. */
const MAX_ERROR_TEXT = 1_024;

function eventErrorOf(error: unknown): RoleEventError {
  const Text = errorText(error).slice(0, MAX_ERROR_TEXT);
  if (error instanceof Refusal) return { Code: error.code, Text };
  return { Code: isNobodyThere(error) ? 'unavailable' : 'internal', Text };
}
