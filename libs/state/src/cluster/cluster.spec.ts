import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { StateMachine } from '../machine/state-machine.js';
import { SINGLETON_KEY } from '../machine/tables.js';

const { aMachine, apply } = fixtures;

describe('initialisation', () => {
  it('ST-2: the first transaction creates the default namespace and the built-in pools, silently', () => {
    const machine = new StateMachine();
    const applied = apply(machine, 'Initialise', {});
    expect(machine.tables.namespaces.get('default')).toMatchObject({
      Description: 'Default shared namespace',
      CreateIndex: 1,
      ModifyIndex: 1,
    });
    expect([...machine.tables.node_pools.all()].map((pool) => [pool.Name, pool.CreateIndex, pool.ModifyIndex])).toEqual(
      [
        ['all', 1, 1],
        ['default', 1, 1],
      ],
    );
    expect(eventsOf(applied)).toBeNull();
    expect(apply(machine, 'Initialise', {}).verdict.kind).toBe('noop');
  });
});

describe('leases and fencing', () => {
  it('ST-15: a lease is taken at the next epoch only, and a stale epoch is void', () => {
    const machine = aMachine();
    const take = (Epoch: number) => apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch, Holder: `h${Epoch}` });
    expect(take(2).verdict.kind).toBe('refused');
    expect(take(1).verdict.kind).toBe('accepted');
    expect(take(1).verdict.kind).toBe('refused');
    const write = (epoch: number, role: 'broker' | 'nodes' = 'broker') =>
      apply(machine, 'ClusterMetadata', { ClusterID: 'c', CreateTime: 1 }, { fence: { role, epoch } }).verdict;
    expect(write(2)).toEqual({ kind: 'void', error: 'stale epoch' });
    expect(write(1, 'nodes')).toEqual({ kind: 'void', error: 'stale epoch' });
    expect(machine.tables.cluster_meta.size).toBe(0);
    expect(write(1).kind).toBe('accepted');
    expect(take(2).verdict.kind).toBe('accepted');
    expect(write(1)).toEqual({ kind: 'void', error: 'stale epoch' });
    expect(machine.epochOf('broker')).toBe(2);
  });
});

const TEN_MINUTES_NS = 600e9;
it.each([-TEN_MINUTES_NS, 0, TEN_MINUTES_NS])(
  'AU-261: the epoch decides which write counts, whatever the clock of its holder says (%d ns off)',
  (offNs) => {
    const machine = aMachine();
    const at = (timeNs: number) => ({ timeNs });
    const acquire = (Epoch: number, timeNs: number) =>
      apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch, Holder: `h${Epoch}` }, at(timeNs)).verdict.kind;
    const write = (epoch: number, timeNs: number) => {
      const payload = { ClusterID: `c${epoch}`, CreateTime: 1 };
      return apply(machine, 'ClusterMetadata', payload, { ...at(timeNs), fence: { role: 'broker', epoch } }).verdict;
    };
    expect(acquire(1, fixtures.timeNs)).toBe('accepted');
    expect(acquire(2, fixtures.timeNs + offNs)).toBe('accepted');
    expect(write(1, fixtures.timeNs + 2 * TEN_MINUTES_NS)).toEqual({ kind: 'void', error: 'stale epoch' });
    expect(write(1, fixtures.timeNs - 2 * TEN_MINUTES_NS)).toEqual({ kind: 'void', error: 'stale epoch' });
    expect(write(2, fixtures.timeNs + offNs).kind).toBe('accepted');
  },
);

describe('configuration', () => {
  it('OP-14 OP-16: a scheduler configuration is set, or its check-and-set lost, by the verdict', () => {
    const machine = aMachine();
    const set = (CAS: boolean, ModifyIndex: number, PauseEvalBroker: boolean) =>
      apply(machine, 'SchedulerConfig', {
        Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
        CAS,
        ModifyIndex,
      }).verdict;
    expect(set(true, 0, true)).toEqual({ kind: 'noop', result: false });
    expect(set(false, 0, false)).toEqual({ kind: 'accepted', result: true });
    expect(set(true, 2, true)).toEqual({ kind: 'noop', result: false });
    expect(set(true, 3, true)).toEqual({ kind: 'accepted', result: true });
    expect(machine.tables.scheduler_config.get(SINGLETON_KEY)).toMatchObject({
      PauseEvalBroker: true,
      CreateIndex: 3,
      ModifyIndex: 5,
    });
    expect(machine.tables.scheduler_config.tableIndex).toBe(5);
  });

  it('keeps the first cluster id', () => {
    const machine = aMachine();
    const set = (ClusterID: string) => apply(machine, 'ClusterMetadata', { ClusterID, CreateTime: 1 }).verdict;
    expect(set('a').kind).toBe('accepted');
    expect(set('a').kind).toBe('noop');
    expect(set('b')).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: 'refusing to set new cluster id, previous: a, new: b',
    });
  });
});
