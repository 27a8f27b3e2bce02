import type { ServiceFigures } from '@waybill/service';
import { expect, it } from 'vitest';
import { controlPlaneOf } from './control-plane.js';

const figuresOf = (service: string, gauges: readonly (readonly [string, number, object?])[]): ServiceFigures => ({
  service,
  host: 'a',
  counters: [],
  distributions: [],
  gauges: gauges.map(([name, value, labels = {}]) => ({ name: `waybill_nomad_${name}`, value, labels: { ...labels } })),
});
const lease = { Role: 'broker', Holder: 'a-1', Epoch: 3, ModifyIndex: 40 };
const parts = { leases: [lease], logIndex: 50, appliedIndex: 48 };

it('shows each role with who took it last, and whether somebody holds it now', () => {
  const holder = figuresOf('broker', [
    ['waybill_lease_held', 1, { role: 'broker' }],
    ['broker_total_ready', 7],
  ]);
  const { Roles, Queues } = controlPlaneOf({ ...parts, figures: [holder] });
  expect(Roles[0]).toEqual({ Role: 'broker', Holder: 'a-1', Epoch: 3, SinceIndex: 40, IsHeld: true });
  expect(Roles[1]).toEqual({ Role: 'nodes', Holder: '', Epoch: 0, SinceIndex: 0, IsHeld: false });
  expect(Queues).toMatchObject({ Ready: 7, Blocked: 0 });
});

it('shows no queues while nobody holds the broker', () => {
  const standby = figuresOf('broker', [['waybill_lease_held', 0, { role: 'broker' }]]);
  expect(controlPlaneOf({ ...parts, figures: [standby] })).toMatchObject({
    Queues: null,
    Services: [{ Service: 'broker' }],
  });
});

it('counts what PostgreSQL lacks, and nothing if the end of the log is not known', () => {
  expect(controlPlaneOf({ ...parts, figures: [] })).toMatchObject({ LogIndex: 50, AppliedIndex: 48, ProjectionLag: 2 });
  expect(controlPlaneOf({ ...parts, logIndex: undefined, figures: [] })).toMatchObject({
    LogIndex: 48,
    ProjectionLag: 0,
  });
});
