import type { Timers } from '@waybill/model';
import { Watches } from '@waybill/projection';
import type { Role } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { ResumedRoles, RolesNotResumedError } from './resumed-roles.js';

const RESTORED = 100;

/** Until everything that waits for nothing has run. */
const allElse = () => new Promise((resolve) => setImmediate(resolve));

/** Roles as Postgres has them. @param timePasses whether what is waited for may be given up */
function aCluster(leases: Partial<Record<Role, number>>, timePasses = false) {
  let nowMs = 0;
  const timers: Timers = {
    after: (ms, run) => {
      if (!timePasses) return () => {};
      const timer = setImmediate(() => {
        nowMs += ms;
        run();
      });
      return () => clearImmediate(timer);
    },
  };
  const watches = new Watches(timers);
  const asked: number[] = [];
  const roles = new ResumedRoles({
    feed: watches,
    leases: () =>
      Promise.resolve(Object.entries(leases).map(([role, ModifyIndex]) => ({ Role: role as Role, ModifyIndex }))),
    brokerAt: (index) => Promise.resolve(asked.push(index)),
    monotonic: { nowMs: () => nowMs },
  });
  return {
    roles,
    asked,
    openWatches: () => watches.size,
    take: (role: Role, index: number): void => {
      leases[role] = index;
      watches.wake([['leases', role]]);
    },
  };
}

describe('the roles after a restore', () => {
  it('OP-42: each of them is taken anew, and the broker has begun, before the answer', async () => {
    const { roles, asked, take, openWatches } = aCluster({ broker: 7, nodes: 9, projector: 101 });
    let isOver = false;
    const over = roles.awaitResumed(RESTORED, 60_000).then(() => (isOver = true));
    await allElse();
    take('broker', 102);
    await allElse();
    expect([isOver, asked]).toEqual([false, []]);
    take('nodes', 103);
    await over;
    expect(asked).toEqual([102]);
    expect(openWatches()).toBe(0);
  });

  it('OP-42: who does not take his role in time is named', async () => {
    const { roles, asked, openWatches } = aCluster({ broker: 101, volumes: RESTORED }, true);
    await expect(roles.awaitResumed(RESTORED, 60_000)).rejects.toThrow(new RolesNotResumedError(['volumes']));
    expect(asked).toEqual([]);
    expect(openWatches()).toBe(0);
  });
});
