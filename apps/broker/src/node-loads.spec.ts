import { allocsFit, isTerminalAllocation } from '@waybill/model';
import { fixtures, StateMachine } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { NodeLoads } from './node-loads.js';

/** Transactions of one random history. */
const TXNS = 1_500;

describe('what is taken of each node', () => {
  for (const seed of [1, 2, 3])
    it(`EB-249: kept from the changes, it is what walking the allocations says (seed ${seed})`, () => {
      const state = new StateMachine();
      const loads = new NodeLoads(state.tables);
      let compared = 0;
      for (const txn of fixtures.aRandomLog(seed, TXNS)) {
        for (const change of state.apply(txn).changes) loads.changed(change);
        for (const node of state.tables.nodes.all()) {
          const live = [...state.tables.allocs.by('node', node.ID)].filter((alloc) => !isTerminalAllocation(alloc));
          const { allocs, claimants: _, ...amounts } = loads.of(node.ID);
          expect({ ...amounts, allocs }).toEqual({ ...allocsFit(node, live).used, allocs: live.length });
          expect(loads.of(node.ID)).toEqual(new NodeLoads(state.tables).of(node.ID));
          compared += live.length;
        }
      }
      expect(compared).toBeGreaterThan(TXNS);
    });
});
