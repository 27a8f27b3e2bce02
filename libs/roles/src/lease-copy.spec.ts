import { decodeTxn, encodeTxn, readTxn } from '@waybill/journal';
import { fixtures, StateMachine } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { LEASE_TABLES, LEASE_TXNS } from './lease-runner.js';

describe.each([1, 8, 20_261_122])('a copy that reads leases alone, log of seed %i', (seed) => {
  it('ST-15: has the same epochs and gives the same verdicts on them as one that reads all', () => {
    const [whole, leases] = [new StateMachine(), new StateMachine()];
    let taken = 0;
    for (const txn of fixtures.aRandomLog(seed, 2_500)) {
      // A second copy is of the same type as the first, which a random one need not be.
      const { headers, body } = encodeTxn({ ...txn, requestId: `${txn.type} ${txn.requestId}` });
      const applied = whole.apply(decodeTxn(txn.index, headers, body));
      const ours = leases.apply(readTxn(txn.index, { headers, body }, LEASE_TXNS));
      if (txn.type !== 'LeaseAcquired') continue;
      taken += applied.verdict.kind === 'accepted' ? 1 : 0;
      expect(ours.verdict, `index ${txn.index}`).toEqual(applied.verdict);
      for (const table of LEASE_TABLES) expect([...leases.tables[table].all()]).toEqual([...whole.tables[table].all()]);
    }
    expect(taken).toBeGreaterThan(0);
    expect(leases.tables.jobs.size).toBe(0);
  });
});
