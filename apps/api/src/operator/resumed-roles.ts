import type { Clock } from '@waybill/model';
import type { Watch, WatchKey } from '@waybill/projection';
import type { Role } from '@waybill/state';

const LEASES: readonly WatchKey[] = [['leases', '*']];

/** Some role has not been taken again in time. */
export class RolesNotResumedError extends Error {
  override readonly name = 'RolesNotResumedError';
  constructor(readonly roles: readonly Role[]) {
    super(`nobody has taken ${roles.join(', ')}`);
  }
}

interface TakenRole {
  readonly Role: Role;
  /** Of the transaction that gave it. */
  readonly ModifyIndex: number;
}

export interface ResumedRolesDeps {
  readonly feed: { watch(keys: readonly WatchKey[]): Watch };
  /** Of every role that anybody has ever held, who took it last. */
  readonly leases: () => Promise<readonly TakenRole[]>;
  /** Resolves when the holder of the broker role has applied an index. */
  readonly brokerAt: (index: number) => Promise<unknown>;
  /** Monotonic: a wait is no time of day. */
  readonly monotonic: Clock;
}

/**
 * Whether the singletons work on a restored state: each holder gives its role up when it applies the restore, and takes
 * it again to begin from the new tables. Cost: one statement per role that is taken.
 */
export class ResumedRoles {
  constructor(private readonly deps: ResumedRolesDeps) {}

  /**
   * Resolves when every role was taken after this index, and the broker has begun (OP-42).
   * @throws RolesNotResumedError after `timeoutMs`; what the broker's answer fails with
   */
  async after(index: number, timeoutMs: number): Promise<void> {
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
