import { describe, expect, it } from 'vitest';
import { coverageByPrefix, namedButUndefined, rulesDefinedIn, rulesNamedIn } from './rule-index.mjs';
import { referenceFiles, textOf } from './source-tree.mjs';

describe('rules defined in the reference', () => {
  it('takes list items and bold first cells, each once', () => {
    const markdown = [
      '- **EB-2** A rule (EB-144).',
      '- ST-47 Plain ids open a rule too.',
      '  * **EB-10**, **EB-11** Two in one. **EB-12** And one more.',
      '| **API-518** | `job revert` | EB-9 |',
      '- **EB-2** again',
    ].join('\n');
    expect(rulesDefinedIn(markdown)).toEqual(['API-518', 'EB-2', 'EB-10', 'EB-11', 'EB-12', 'ST-47']);
  });

  it('leaves references alone: sentences, plain cells, lists that mention a rule later', () => {
    const markdown = ['As EB-1 says.', '| VL-20 | confirmed absent |', '- See **EB-3**.', '| x | **EB-4** |'].join(
      '\n',
    );
    expect(rulesDefinedIn(markdown)).toEqual([]);
  });

  it('finds every document of rules in docs/reference', () => {
    const prefixes = coverageByPrefix(
      referenceFiles().flatMap((file) => rulesDefinedIn(textOf(file))),
      [],
    ).map((entry) => entry.prefix);
    const expected = 'AG API AU CL CW DP DR EB EV GC JR JS ND NW OP PG SC ST VL'.split(' ');
    expect(prefixes).toEqual(expected);
  });
});

const named = (source: string) => rulesNamedIn('x.spec.ts', source);

describe('rules named by tests', () => {
  it('reads the title of a test, one id or several, at the front or later', () => {
    expect(named(`it('EB-31: waits', () => {})`)).toEqual(['EB-31']);
    expect(named(`test("EB-31, EB-32: waits", async () => {})`)).toEqual(['EB-31', 'EB-32']);
    expect(named('it(`waits (EB-9) ${x}`, () => {})')).toEqual(['EB-9']);
    expect(named(`it('EB-1: long ' +\n 'EB-2', () => {})`)).toEqual(['EB-1', 'EB-2']);
  });

  it('follows each, skipIf and nesting', () => {
    expect(named(`it.each([1, 2])('EB-4: %i', () => {})`)).toEqual(['EB-4']);
    expect(named(`it.each([['EB-5', 1], ['EB-6', 2]])('%s: x', () => {})`)).toEqual(['EB-5', 'EB-6']);
    expect(named(`describe('a', () => { it.skipIf(no)('EB-7: x', () => {}); })`)).toEqual(['EB-7']);
  });

  it('does not count what never runs, comments, or strings that are no title', () => {
    expect(named(`it.skip('EB-1: x', () => {}); it.todo('EB-2');`)).toEqual([]);
    expect(named(`describe.skip('a', () => { it('EB-3: x', () => {}); })`)).toEqual([]);
    expect(named(`// it('EB-4: x')\nit('x', () => { expect('EB-5').toBe(1); })`)).toEqual([]);
    expect(named(`describe('EB-6: a group', () => {})`)).toEqual([]);
  });

  it('joins both sides, and notices an id that no document defines', () => {
    const defined = ['EB-10', 'EB-2', 'EB-2', 'SC-1'];
    expect(coverageByPrefix(defined, ['EB-2', 'UTF-8'])).toEqual([
      { prefix: 'EB', total: 2, proven: 1, unproven: ['EB-10'] },
      { prefix: 'SC', total: 1, proven: 0, unproven: ['SC-1'] },
    ]);
    expect(namedButUndefined(defined, ['EB-2', 'EB-3', 'UTF-8'])).toEqual(['EB-3']);
  });
});
