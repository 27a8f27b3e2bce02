import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Txn } from '../log/txn.js';
import { canonicalJson } from './canonical-json.js';
import { type Applied, StateMachine } from './state-machine.js';

/**
 * A random log (random-log.ts) as the program wrote it on 27 November 2026, and what that program made of it. It is
 * never recorded anew: a log of an older program must give the same state for ever.
 */
interface Recording {
  readonly txns: readonly Txn[];
  /** At every hundredth index, a hash of all verdicts and rows up to it. */
  readonly marks: readonly (readonly [index: number, hash: string])[];
}

const RECORDING = new URL('../fixtures/recorded-log.json.gz', import.meta.url);

/** What every copy of the state must agree on; texts of refusals may be worded anew. */
const lineOf = ({ index, verdict, changes }: Applied): string => {
  const code = verdict.kind === 'refused' ? verdict.code : '';
  const rows = changes.map(({ table, key, after }) => `${table} ${key} ${after ? canonicalJson(after) : 'removed'}\n`);
  return `${index} ${verdict.kind} ${code}\n${rows.join('')}`;
};

it('ST-3, ST-8, EV-1: a log of an older program gives the same verdicts and rows in the same order today', () => {
  const { txns, marks } = JSON.parse(gunzipSync(readFileSync(RECORDING)).toString()) as Recording;
  const machine = new StateMachine();
  const hash = createHash('sha256');
  const found: (readonly [number, string])[] = [];
  for (const txn of txns) {
    const applied = machine.apply(txn);
    hash.update(lineOf(applied));
    if (applied.index % 100 === 0) found.push([applied.index, hash.copy().digest('hex')]);
  }
  expect(found).toEqual(marks);
});
