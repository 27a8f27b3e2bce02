import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';

const { aMachine, apply, timeNs } = fixtures;
const HOUR_NS = 3_600e9;

describe('introductions of nodes', () => {
  it('AU-201: a token is good for the first node that uses it, and again for that one', () => {
    const machine = aMachine();
    const introduce = (NodeID: string) =>
      apply(machine, 'NodeIntroduction', {
        Introduction: { TokenID: 't1', NodeID, KeepUntil: timeNs + HOUR_NS },
      }).verdict;
    expect(introduce('a').kind).toBe('accepted');
    expect(introduce('a').kind).toBe('noop');
    expect(introduce('b')).toMatchObject({ kind: 'refused', code: 'forbidden', error: 'Permission denied' });
    expect([...machine.tables.node_introductions.all()]).toMatchObject([{ TokenID: 't1', NodeID: 'a' }]);
  });

  it('AU-201: tokens that have expired are forgotten, the others are not', () => {
    const machine = aMachine();
    const introduce = (TokenID: string, KeepUntil: number, at = timeNs) =>
      apply(machine, 'NodeIntroduction', { Introduction: { TokenID, NodeID: 'a', KeepUntil } }, { timeNs: at });
    introduce('old', timeNs + HOUR_NS);
    introduce('young', timeNs + 3 * HOUR_NS);
    introduce('new', timeNs + 4 * HOUR_NS, timeNs + 2 * HOUR_NS);
    expect([...machine.tables.node_introductions.all()].map(({ TokenID }) => TokenID)).toEqual(['young', 'new']);
  });
});
