import { type Clock, Refusal } from '@waybill/model';
import {
  type Authority,
  type CallGuard,
  type CallProtection,
  type CallUser,
  notAdmitted,
  type Rpc,
  RpcUnavailableError,
  userMay,
} from '@waybill/rpc';
import type { RoleHolders } from './role-holders.js';

/** The time in milliseconds for which a user who was admitted once is admitted again without asking the servers. */
export const ADMITTED_FOR_MS = 10_000;
/** The most admissions that are remembered. Above it, all are forgotten. */
export const MAX_ADMITTED = 1_000;

export interface AgentGuardDeps {
  readonly rpc: Rpc;
  readonly clock: Clock;
  readonly node: () => { readonly ID: string; readonly SecretID: string };
  readonly holders: Pick<RoleHolders, 'admit'>;
  /** The index of the newest list of allocations that the machine has. */
  readonly pulledIndex: () => number;
}

/**
 * AgentGuard admits calls to this machine: those of a role by the fence of its present holder (AU-256), those for a user
 * by the rights that the servers know of (OP-172). Without an answer of the servers, no user is admitted. It remembers
 * users whom it admitted for ADMITTED_FOR_MS, so that output that somebody follows costs no further requests, and ends
 * soon after the rights of its reader. Limit: MAX_ADMITTED.
 */
export class AgentGuard implements CallGuard {
  /** The time until which an admission counts, in Unix milliseconds, by call, allocation and user. */
  private readonly admitted = new Map<string, number>();

  constructor(private readonly deps: AgentGuardDeps) {}

  async admit(call: CallProtection, request: unknown, authority: Authority | undefined): Promise<void> {
    if (!authority) throw notAdmitted();
    if (call.fencedBy !== undefined) {
      if (!('fence' in authority)) throw notAdmitted();
      return this.deps.holders.admit(call.fencedBy, authority.fence);
    }
    if (!('user' in authority)) throw notAdmitted();
    await this.admitUser(call.name, allocIdOf(request), authority.user);
  }

  private async admitUser(name: string, allocId: string, user: CallUser): Promise<void> {
    const key = JSON.stringify([name, allocId, user]);
    const nowMs = this.deps.clock.nowMs();
    const untilMs = this.admitted.get(key) ?? 0;
    // A clock that was set back must not keep a right alive.
    if (nowMs < untilMs && untilMs <= nowMs + ADMITTED_FOR_MS) return;
    if (!(await this.isAllowed(name, allocId, user))) throw notAdmitted();
    if (this.admitted.size >= MAX_ADMITTED) this.admitted.clear();
    this.admitted.set(key, nowMs + ADMITTED_FOR_MS);
  }

  private async isAllowed(Call: string, AllocID: string, User: CallUser): Promise<boolean> {
    const { rpc, node, pulledIndex } = this.deps;
    const { ID: NodeID, SecretID } = node();
    try {
      const asked = { NodeID, SecretID, Call, AllocID, User, MinStateIndex: pulledIndex() };
      return (await rpc.ask(userMay, asked)).Allowed;
    } catch (error) {
      if (error instanceof RpcUnavailableError)
        throw new Refusal('unavailable', `the machine cannot check the rights of the user: ${error.message}`);
      throw error;
    }
  }
}

/** The allocation that a request is about; empty if it is about the machine. */
function allocIdOf(request: unknown): string {
  const id = typeof request === 'object' && request !== null && 'AllocID' in request ? request.AllocID : '';
  return typeof id === 'string' ? id : '';
}
