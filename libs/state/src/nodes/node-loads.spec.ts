import { allocsFit, isClientTerminal, isTerminalAllocation, type Allocation } from '@waybill/model';
import { fixtures } from '../fixtures.js';
import { StateMachine } from '../machine/state-machine.js';
import { describe, expect, it } from 'vitest';
import { NodeLoads } from './node-loads.js';

/** Transactions of one random history. */
const TXNS = 1_500;

const COUNTING: [string, (alloc: Allocation) => boolean][] = [
  ['EB-249: what has not ended and is not told to', (alloc) => !isTerminalAllocation(alloc)],
  ['SC-97, SC-98: what its agent has not ended', (alloc) => !isClientTerminal(alloc)],
];

describe('what is taken of each node', () => {
  it.each(COUNTING.flatMap(([name, counts]) => [1, 2, 3].map((seed) => [name, seed, counts] as const)))(
    '%s: kept from the changes, it is what walking the allocations says (seed %d)',
    { timeout: 120_000 }, // every node after every transaction, on a busy machine
    (_, seed, counts) => {
      const state = new StateMachine();
      const loads = new NodeLoads(state.tables, counts);
      let compared = 0;
      for (const txn of fixtures.aRandomLog(seed, TXNS)) {
        loads.applied(state.apply(txn));
        for (const node of state.tables.nodes.all()) {
          const live = [...state.tables.allocs.by('node', node.ID)].filter(counts);
          const { allocs, claimants: _claimants, ...amounts } = loads.of(node.ID);
          expect({ ...amounts, allocs }).toEqual({ ...allocsFit(node, live).used, allocs: live.length });
          expect(loads.of(node.ID)).toEqual(new NodeLoads(state.tables, counts).of(node.ID));
          compared += live.length;
        }
      }
      expect(compared).toBeGreaterThan(TXNS);
    },
  );
});
