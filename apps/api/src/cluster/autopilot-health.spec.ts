import { expect, it } from 'vitest';
import { AutopilotHealth, MAX_TRAILING_LOGS } from './autopilot-health.js';
import type { Member } from './member.js';

const member = (ID: string, AppliedIndex: number): Member => ({
  ID,
  Name: 'waybill.global',
  Host: '10.0.0.1',
  Port: 4646,
  StartedMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  AppliedIndex,
});

function health(applied: number, members: readonly Member[], up = true, replicas = 1) {
  const leases = async () => [{ Role: 'broker', Epoch: 7, Holder: 'b' }];
  const model = { appliedIndex: async () => applied, leases } as never;
  return new AutopilotHealth(model, { list: async () => members }, { up }, replicas).readHealth();
}

it('OP-65: a server is well that is not too far behind, and all are while all of them are', async () => {
  const edge = 1_000 - MAX_TRAILING_LOGS;
  const { Healthy, Servers, Leader, Voters } = await health(1_000, [member('a', edge + 1), member('b', edge)]);
  expect([Healthy, Leader, Voters]).toEqual([false, 'a', ['a', 'b']]);
  expect(Servers).toMatchObject([
    { ID: 'a', Healthy: true, Leader: true, LastTerm: 7, StableSince: '2026-01-02T03:04:05Z' },
    { ID: 'b', Healthy: false, Leader: false, LastIndex: edge },
  ]);
  expect(await health(1_000, [member('a', 1_000)])).toMatchObject({ Healthy: true });
  expect(await health(1_000, [member('a', 1_000)], false)).toMatchObject({ Healthy: false });
});

it('OP-66: as many servers may be lost as copies of the log, while it takes writes', async () => {
  const tolerances = [1, 3, 5].map(async (replicas) => (await health(1, [], true, replicas)).FailureTolerance);
  expect(await Promise.all(tolerances)).toEqual([0, 1, 2]);
});
