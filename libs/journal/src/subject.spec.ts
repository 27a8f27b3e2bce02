import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { jobSubject, MAX_TOKEN_CHARS, subjectOf, subjectToken, TXN_DOMAINS } from './subject.js';

const AWKWARD = [
  '',
  ' ',
  '.',
  '*',
  '>',
  '=',
  '=h',
  '=3D',
  '/',
  '\\',
  '\0',
  '\r\n',
  '\t',
  'web',
  'Web',
  'web api',
  'web.api',
  'web/api',
  'web*',
  'web>',
  'web/dispatch-1700000000-abcdef12',
  'web/periodic-1700000000',
  'größe',
  'grösse',
  'gro\u0308sse',
  '日本語',
  '🚢',
  '🚢🚢',
  'a'.repeat(128),
  'a'.repeat(129),
  'a'.repeat(5000),
  `${'a'.repeat(4999)}b`,
  '.'.repeat(5000),
];

/** A small generator, so that a failure can be repeated from its seed. */
function randomNames(seed: number, count: number): string[] {
  let state = seed;
  const next = (n: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % n;
  };
  const alphabet = ['a', 'B', '7', '-', '_', '.', '*', '>', ' ', '/', '=', 'h', 'ö', '語', '🚢', '\n', '%', '$'];
  return Array.from({ length: count }, () =>
    Array.from({ length: next(12) }, () => alphabet[next(alphabet.length)]).join(''),
  );
}

describe('subjectToken', () => {
  const seed = 1;
  const names = [...new Set([...AWKWARD, ...randomNames(seed, 5000)])];

  it(`makes one legal token of bounded length from any name (seed ${seed})`, () => {
    for (const name of names) {
      expect(subjectToken(name), JSON.stringify(name)).toMatch(/^[A-Za-z0-9_=-]+$/);
      expect(subjectToken(name).length).toBeLessThanOrEqual(MAX_TOKEN_CHARS);
    }
  });

  it(`gives different names different tokens (seed ${seed})`, () => {
    const tokens = new Map(names.map((name) => [subjectToken(name), name]));
    expect(tokens.size).toBe(names.length);
  });

  it('leaves ordinary names readable', () => {
    expect(jobSubject('default', 'web-1_a')).toBe('TXN.job.default.web-1_a');
    expect(jobSubject('default', 'a/b.c')).toBe('TXN.job.default.a=2Fb=2Ec');
  });
});

describe('subjectOf', () => {
  const context = { timeNs: 1, requestId: 'r', actor: serviceActor('test') };

  it('puts an aggregate on its one exact subject, whatever its name', () => {
    const node = draftTxn('NodeDeregister', { NodeID: 'a.b' }, context);
    expect(subjectOf(node)).toBe('TXN.node.a=2Eb');
    const lease = draftTxn('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'h' }, context);
    expect(subjectOf(lease)).toBe('TXN.lease.broker');
  });

  it('puts what touches many aggregates on the subject of its domain', () => {
    expect(subjectOf(draftTxn('EvalUpdate', { Evals: [] }, context))).toBe('TXN.eval');
    expect(subjectOf(draftTxn('AllocClientUpdate', { Allocs: [], Evals: [] }, context))).toBe('TXN.alloc');
  });

  it('AU-252: each transaction is in a domain that writers may be granted, but for leases and the begin of a history', () => {
    const others = new Set<string>();
    const types = new Set<string>();
    for (const txn of fixtures.aRandomLog(7, 5_000)) {
      types.add(txn.type);
      const [, domain = ''] = subjectOf(txn).split('.');
      if (!TXN_DOMAINS.includes(domain)) others.add(domain);
    }
    expect([...others].toSorted()).toEqual(['lease', 'system']);
    expect(types.size).toBeGreaterThan(40);
  });
});
