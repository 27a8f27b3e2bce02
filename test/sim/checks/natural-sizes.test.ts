import { describe, expect, it } from 'vitest';
import { fixtures, StateMachine } from '@waybill/state';
import { notAtRest, tooLarge } from './natural-sizes.js';

const PURGED = 40;

/** A holder of the broker's role that has `held` evaluations in memory; the job of PURGED of its state was purged. */
function holderWith(held: number) {
  const machine = new StateMachine();
  const { tables } = machine;
  for (let n = 0; n < PURGED; n++) {
    const ended = { JobID: 'web', Status: 'complete', StatusDescription: 'job web deleted' } as const;
    tables.evals.replace(`e${n}`, fixtures.anEval({ ID: `e${n}`, ...ended }));
  }
  tables.evals.replace('pending', fixtures.anEval({ ID: 'pending', Status: 'pending' }));
  const broker = {
    holder: 1,
    totalReady: 1,
    totalUnacked: 0,
    totalPending: held - 1,
    totalWaiting: 0,
    totalCancelable: 0,
    totalBlocked: 0,
    planQueueDepth: 0,
  };
  return [{ name: 's1', state: machine, holdings: new Map([['broker' as const, broker]]) }];
}

describe('what a broker holds in memory', () => {
  it('EB-337: what a purge has ended is kept until its turn comes, and nothing else beyond what is pending', () => {
    expect(tooLarge(holderWith(1 + PURGED), [])).toBeUndefined();
    expect(tooLarge(holderWith(1 + PURGED + 33), [])).toContain('s1 has 74, its state makes them 1');
  });

  it('EB-337: also when they are collected before', () => {
    const servers = holderWith(1 + PURGED);
    const machine = servers[0]!.state;
    const EvalIDs = [...machine.tables.evals.by('status', 'complete')].map(({ ID }) => ID);
    const collected = fixtures.apply(machine, 'EvalDelete', {
      EvalIDs,
      AllocIDs: [],
      ScanIndex: 0,
      UserInitiated: false,
    });
    expect(machine.tables.evals.size).toBe(1);
    expect(tooLarge(servers, [])).toContain('s1 has 41, its state makes them 1');
    expect(tooLarge(servers, [collected])).toBeUndefined();
  });

  it('is at rest exactly what is pending', () => {
    expect(notAtRest(holderWith(1))).toBeUndefined();
    expect(notAtRest(holderWith(2))).toContain('evaluations in the broker');
  });
});
