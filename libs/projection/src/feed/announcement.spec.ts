import { type Applied, type Change, fixtures, type Verdict } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  announcementsOf,
  decodeAnnouncement,
  MAX_ANNOUNCED_KEYS,
  MAX_ANNOUNCEMENT_BYTES,
  standingAt,
} from './announcement.js';

const meta = { appliedAtMs: 5, eventSequence: 9 };

function applied(index: number, changes: Change[], verdict: Verdict = { kind: 'accepted' }): Applied {
  return { txn: fixtures.aTxn(index, 'Ignore', {}), index, verdict, changes };
}
const evalChange = (id: string): Change => {
  const after = fixtures.anEval({ ID: id, JobID: 'web' });
  return { table: 'evals', key: id, before: undefined, after };
};

describe('announcements', () => {
  it('name verdict, rows and the groups the rows belong to, once', () => {
    const [message] = announcementsOf([applied(7, [evalChange('a'), evalChange('b')])], meta);
    expect(decodeAnnouncement(message!)).toEqual({
      from: 6,
      to: 7,
      ...meta,
      entries: [
        {
          index: 7,
          requestId: fixtures.aTxn(7, 'Ignore', {}).requestId,
          verdict: { kind: 'accepted' },
          keys: [
            ['evals', 'a'],
            ['evals', 'job:default/web'],
            ['evals', 'b'],
          ],
        },
      ],
    });
  });

  it('name both nodes of an allocation that moved', () => {
    const before = fixtures.anAlloc({ ID: 'a', JobID: 'web', NodeID: 'n1', EvalID: 'e', DeploymentID: '' });
    const change: Change = { table: 'allocs', key: 'a', before, after: { ...before, NodeID: 'n2' } };
    const [message] = announcementsOf([applied(1, [change])], meta);
    expect(decodeAnnouncement(message!).entries[0]!.keys.map(([, key]) => key)).toEqual([
      'a',
      'job:default/web',
      'node:n1',
      'eval:e',
      'node:n2',
    ]);
  });

  it('of very many rows name only the table', () => {
    const changes = Array.from({ length: MAX_ANNOUNCED_KEYS }, (_, n) => evalChange(`${n}`));
    const [message] = announcementsOf([applied(1, changes)], meta);
    expect(decodeAnnouncement(message!).entries[0]!.keys).toEqual([['evals', '*']]);
  });

  it('are split without a gap, and none is larger than the limit', () => {
    const big: Verdict = { kind: 'accepted', result: 'x'.repeat(100_000) };
    const huge: Verdict = { kind: 'accepted', result: 'x'.repeat(MAX_ANNOUNCEMENT_BYTES) };
    const all = Array.from({ length: 10 }, (_, n) => applied(n + 3, [], n === 4 ? huge : big));
    const messages = announcementsOf(all, meta);
    expect(messages.length).toBeGreaterThan(3);
    let at = 2;
    for (const message of messages) {
      expect(Buffer.byteLength(message)).toBeLessThan(MAX_ANNOUNCEMENT_BYTES + 1_000);
      const { from, to, entries } = decodeAnnouncement(message);
      expect(from).toBe(at);
      expect(entries.map((entry) => entry.index)).toEqual(Array.from({ length: to - from }, (_, n) => from + n + 1));
      at = to;
    }
    expect(at).toBe(12);
    expect(messages.flatMap((m) => decodeAnnouncement(m).entries).find((e) => e.index === 7)!.verdict).toBeUndefined();
  });

  it('say where the projection stands, and refuse what is none', () => {
    expect(decodeAnnouncement(standingAt(4, meta))).toEqual({ from: 4, to: 4, ...meta, entries: [] });
    for (const text of ['', '{}', 'null', '[1]', '{"from":"1"}']) expect(() => decodeAnnouncement(text)).toThrow();
  });
});
