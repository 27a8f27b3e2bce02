import { describe, expect, it } from 'vitest';
import { Conditions, listStatement } from './list-query.js';
import { byNamespaceAndId } from './page.js';
import { storedText } from '../writing/stored-text.js';

/** What PostgreSQL does not store as it is. */
const ODD = 'a\u0000\ud800\ue000';

describe('what a list is compared with is written as the rows are, once', () => {
  it('texts, lists of texts, prefixes', () => {
    expect(storedText(storedText(ODD))).not.toBe(storedText(ODD));
    const of = (build: (chosen: Conditions) => Conditions): unknown[] => build(new Conditions()).values;
    expect(of((chosen) => chosen.equal('id', ODD))).toEqual([storedText(ODD)]);
    expect(of((chosen) => chosen.in([ODD]))).toEqual([[storedText(ODD)]]);
    expect(of((chosen) => chosen.where(`r.name = any(${chosen.value([ODD, 'b'])})`))).toEqual([[storedText(ODD), 'b']]);
    expect(of((chosen) => chosen.where(`r.index = any(${chosen.value([1, 2])})`))).toEqual([[1, 2]]);
    const [from, end] = of((chosen) => chosen.startsWith('id', ODD));
    expect(from).toBe(storedText(ODD));
    expect(String(end) > storedText(`${ODD}z`)).toBe(true);
  });

  it('API-63: the token of a next page', () => {
    const order = byNamespaceAndId<{ Namespace: string; ID: string }>((row) => row);
    const conditions = () => new Conditions();
    const query = { select: 'r.body', from: 'jobs r', indexOf: ['jobs'], conditions, order, page: {} } as const;
    expect(listStatement(query, `default.${ODD}`, 1).values).toEqual(['default', storedText(ODD), ['jobs']]);
  });
});
