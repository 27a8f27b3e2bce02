import { Acl, AclCache, policiesOfWorkload, satisfies, type Workload } from '@waybill/acl';
import { type AclPolicy, ANONYMOUS_POLICY, type Clock, isClientTerminal, isExpiredAt, Refusal } from '@waybill/model';
import { ReplicaBehindError, type ReplicatedState } from '@waybill/replica';
import { type Authority, type CallGuard, type CallProtection, type CallUser, notAdmitted } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import type { ServiceContext } from './definition.js';

/** The longest wait in milliseconds for the copy of the state to have the rights that the caller saw. */
export const MAX_RIGHTS_WAIT_MS = 2_000;

/** The guard of a service with a copy of the state. */
export const userRightsOf = ({ state, clock, settings }: ServiceContext): UserRights =>
  new UserRights({ state, clock, isAccessControlled: settings.WAYBILL_ACL_ENABLED });

export interface UserRightsDeps {
  readonly state: Pick<ReplicatedState, 'tables' | 'appliedIndex' | 'waitFor'>;
  readonly clock: Clock;
  /** Whether this process knows that access control is on. Then no caller may claim that everybody may do everything. */
  readonly isAccessControlled: boolean;
}

/** The rights of a user, and the workload that the user is, if any. */
interface Rights {
  readonly acl: Acl;
  readonly workload?: Workload;
}

/**
 * UserRights checks in a service, for whom a call was made, what the API has checked before (OP-172). It reads tokens,
 * roles and policies from the service's own copy of the state, which it waits for if it is behind, at most
 * MAX_RIGHTS_WAIT_MS. It keeps compiled policies only. Cost: look-ups in memory; for a task, one pass over all policies.
 */
export class UserRights implements CallGuard {
  private readonly compiled = new AclCache();

  constructor(private readonly deps: UserRightsDeps) {}

  /** @throws Refusal forbidden; unavailable if this copy of the state is too far behind to tell */
  async admit(call: CallProtection, request: unknown, authority: Authority | undefined): Promise<void> {
    // No call between services is made for a role: the log itself checks the fence of what a holder writes.
    if (call.fencedBy !== undefined || !authority || !('user' in authority)) throw notAdmitted();
    await this.admitUser(call, request, authority.user);
  }

  /** @throws Refusal as `admit` */
  async admitUser(call: CallProtection, request: unknown, user: CallUser): Promise<void> {
    if (user.Kind === 'everybody') {
      if (this.deps.isAccessControlled) throw notAdmitted();
      return;
    }
    await this.reach(user.AtIndex);
    if (!this.isAllowed(call, request, user)) throw notAdmitted();
  }

  private async reach(index: number): Promise<void> {
    const { state } = this.deps;
    if (state.appliedIndex >= index) return;
    try {
      await state.waitFor(index, MAX_RIGHTS_WAIT_MS);
    } catch (error) {
      if (error instanceof ReplicaBehindError) throw new Refusal('unavailable', error.message);
      throw error;
    }
  }

  private isAllowed(
    { userNeeds, admitsNode }: CallProtection,
    request: unknown,
    user: Exclude<CallUser, { Kind: 'everybody' }>,
  ): boolean {
    const { tables } = this.deps.state;
    // The types of the call say what its requests are; they are lost where all calls are treated alike.
    const asked = request as never;
    if (user.Kind === 'node') return admitsNode?.(asked, tables, user.NodeID) ?? false;
    const rights = this.rightsOf(user, tables);
    if (!rights || !userNeeds) return false;
    const { acl, workload } = rights;
    return userNeeds(asked, tables).every(({ requirement, about }) =>
      satisfies(acl, requirement, { ...about, workload }),
    );
  }

  /** Returns undefined for a user who does not exist, or whose credential is no longer valid. */
  private rightsOf(user: Exclude<CallUser, { Kind: 'everybody' | 'node' }>, tables: Tables): Rights | undefined {
    if (user.Kind === 'anonymous') return { acl: this.compiled.ofPolicies(named([ANONYMOUS_POLICY], tables)) };
    if (user.Kind === 'workload') return this.rightsOfWorkload(user, tables);
    const token = tables.acl_token.get(user.AccessorID);
    if (!token || isExpiredAt(token.ExpirationTime, this.deps.clock.nowMs())) return undefined;
    if (token.Type === 'management') return { acl: Acl.management };
    const roles = (token.Roles ?? []).flatMap(({ ID }) => tables.acl_roles.get(ID)?.Policies ?? []);
    return {
      acl: this.compiled.ofPolicies(named([...(token.Policies ?? []), ...roles.map(({ Name }) => Name)], tables)),
    };
  }

  private rightsOfWorkload(
    { AllocID, Task }: Extract<CallUser, { Kind: 'workload' }>,
    tables: Tables,
  ): Rights | undefined {
    const alloc = tables.allocs.get(AllocID);
    if (!alloc?.Job || isClientTerminal(alloc)) return undefined;
    const jobId = alloc.Job.ParentID || alloc.JobID;
    const workload = { namespace: alloc.Namespace, jobId, group: alloc.TaskGroup, task: Task };
    return { acl: this.compiled.ofPolicies(policiesOfWorkload([...tables.acl_policy.all()], workload)), workload };
  }
}

const named = (names: readonly string[], tables: Tables): AclPolicy[] =>
  [...new Set(names)].flatMap((name) => tables.acl_policy.get(name) ?? []);
