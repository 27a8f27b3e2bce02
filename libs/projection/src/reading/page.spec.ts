import { describe, expect, it } from 'vitest';
import { afterPrefix, byCreation, byNamespaceAndId } from './page.js';

const byCodePoint = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('pages', () => {
  it.each(['web', 'a\ud7ff', 'a\u{10ffff}', '\uffff', 'wéb', '\u{1f600}'])(
    'the texts that begin with %j lie between it and the text after the prefix',
    (prefix) => {
      const end = afterPrefix(prefix)!;
      for (const more of ['', '\u0000', 'z', '\u{10ffff}\u{10ffff}']) expect(byCodePoint(prefix + more, end)).toBe(-1);
      expect(end.startsWith(prefix)).toBe(false);
    },
  );

  it('nothing is after a prefix of the last code point only', () => {
    expect(afterPrefix('\u{10ffff}')).toBeUndefined();
    expect(afterPrefix('')).toBeUndefined();
  });

  it('API-64: tokens name the next row', () => {
    expect(byCreation<{ CreateIndex: number; ID: string }>().parse('12.a.b')).toEqual([12, 'a.b']);
    const jobs = byNamespaceAndId<{ Namespace: string; ID: string }>((row) => row);
    expect(jobs.tokenOf({ Namespace: 'default', ID: 'web.1' })).toBe('default.web.1');
    expect(jobs.parse('default.web.1')).toEqual(['default', 'web.1']);
  });

  it('a text that is no token of the list is none', () => {
    for (const token of ['', 'abc', '.', '-1.a', '99999999999999999999.a'])
      expect(byCreation().parse(token)).toBeUndefined();
  });
});
