import { describe, expect, it } from 'vitest';
import type { AllocMetric, Task } from '../api/contract.js';
import { placementFailureInWords } from './placement-failures.js';

const metric = (of: Partial<AllocMetric>): AllocMetric => ({
  NodesEvaluated: 5,
  NodesFiltered: 0,
  NodesInPool: 5,
  NodePool: 'default',
  NodesAvailable: { dc1: 5 },
  ClassFiltered: null,
  ConstraintFiltered: null,
  NodesExhausted: 0,
  ClassExhausted: null,
  DimensionExhausted: null,
  QuotaExhausted: null,
  ResourcesExhausted: null,
  Scores: null,
  ScoreMetaData: null,
  AllocationTime: 0,
  CoalescedFailures: 0,
  ...of,
});
const group = { Tasks: [{ Driver: 'docker', Resources: { MemoryMB: 512, CPU: 100, Cores: 0 } } as Task] };

describe('why allocations are not placed', () => {
  it('names the driver and the memory that machines lack, the reason of most machines first', () => {
    const of = metric({ ConstraintFiltered: { 'missing drivers': 3 }, DimensionExhausted: { memory: 1 } });
    expect(placementFailureInWords(of, group)).toEqual([
      '3 of 5 machines have no driver docker.',
      '1 of 5 machines has too little memory free: 512 MiB is needed.',
    ]);
  });

  it('speaks of all machines, and of the only one', () => {
    const constraint = '${attr.kernel.name} = linux';
    expect(placementFailureInWords(metric({ ConstraintFiltered: { [constraint]: 5 } }))).toEqual([
      `All 5 machines do not meet the constraint ${constraint}.`,
    ]);
    expect(placementFailureInWords(metric({ NodesEvaluated: 1, DimensionExhausted: { cpu: 1 } }), group)).toEqual([
      'The only machine has too little CPU free: 100 MHz is needed.',
    ]);
  });

  it('says where there is no machine at all', () => {
    expect(placementFailureInWords(metric({ NodesEvaluated: 0, NodesAvailable: { dc1: 2, dc2: 0 } }))).toEqual([
      'Datacenter “dc2” has no machine that is ready and eligible.',
    ]);
    expect(placementFailureInWords(metric({ NodesEvaluated: 0, NodesAvailable: {}, NodePool: 'gpu' }))).toEqual([
      'There is no machine in the node pool “gpu” that is ready and eligible.',
    ]);
  });
});
