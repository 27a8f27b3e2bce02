import type { Clock } from '@waybill/model';
import type { Watch, WatchKey } from '@waybill/projection';
import type { Role } from '@waybill/state';

const LEASES: readonly WatchKey[] = [['leases', '*']];

/** RolesNotResumedError says that a role was not taken again in time. */
export class RolesNotResumedError extends Error {
  override readonly name = 'RolesNotResumedError';
  constructor(readonly roles: readonly Role[]) {
    super(`nobody has taken ${roles.join(', ')}`);
  }
}

interface TakenRole {
  readonly Role: Role;
  /** The index of the transaction that gave the role. */
  readonly ModifyIndex: number;
}

export interface ResumedRolesDeps {
  readonly feed: { watch(keys: readonly WatchKey[]): Watch };
  /** Returns for every role that was ever held who took it last. */
  readonly leases: () => Promise<readonly TakenRole[]>;
  /** Resolves when the holder of the broker role has applied an index. */
  readonly brokerAt: (index: number) => Promise<unknown>;
  /** A monotonic clock, because a wait must not depend on the time of day. */
  readonly monotonic: Clock;
}

/**
 * ResumedRoles says whether the singletons work on a restored state. Each holder releases its role when it applies the
 * restore, and takes it again to begin from the new tables. Cost: one statement per taken role.
 */
export class ResumedRoles {
  constructor(private readonly deps: ResumedRolesDeps) {}

  /**
   * Resolves when every role was taken after this index and the broker has begun (OP-42).
   * @throws RolesNotResumedError after `timeoutMs`; the errors of the broker's answer
   */
  async awaitResumed(index: number, timeoutMs: number): Promise<void> {
    const { feed, leases, brokerAt, monotonic } = this.deps;
    const untilMs = monotonic.nowMs() + timeoutMs;
    const watch = feed.watch(LEASES);
    try {
      for (;;) {
        const taken = await leases();
        const open = taken.filter((one) => one.ModifyIndex <= index).map(({ Role }) => Role);
        if (open.length === 0) {
          const broker = taken.find(({ Role }) => Role === 'broker');
          if (broker) await brokerAt(broker.ModifyIndex);
          return;
        }
        const leftMs = untilMs - monotonic.nowMs();
        if (leftMs <= 0 || !(await watch.changed(leftMs))) throw new RolesNotResumedError(open);
      }
    } finally {
      watch.close();
    }
  }
}
