import { describe, expect, it } from 'vitest';
import { applied, mutantsOf, probed } from './mutants.mjs';

const faulty = (text: string) => mutantsOf('x.ts', text).map((mutant) => applied(text, mutant));

describe('faults that could be put into a file', () => {
  it.each([
    ['const a = b < c;', ['const a = b <= c;']],
    ['const a = b ?? 1;', ['const a = b;', 'const a = b ?? (1 + 1);']],
    ['const a = b && c;', ['const a = (b) || (c);']],
    ['if (a) b();', ['if (false) b();', 'if (true) b();', 'if (a) ;']],
    ['const a = b ? c : d;', ['const a = b ? d : c;']],
    ['const a = !b;', ['const a = b;']],
    ['const a = true;', ['const a = false;']],
    ['const a = b.filter(c);', ['const a = b;']],
    ['const a = b.some(c);', ['const a = b.every(c);']],
    ['function f() { g(); return; }', ['function f() { ; return; }', 'function f() { g(); ; }']],
    [
      'for (const a of b) { if (a) continue; c.d = a; }',
      [
        'for (const a of b) { if (false) continue; c.d = a; }',
        'for (const a of b) { if (true) continue; c.d = a; }',
        'for (const a of b) { if (a) ; c.d = a; }',
        'for (const a of b) { if (a) continue; ; }',
      ],
    ],
  ])('%s', (text, wanted) => {
    expect(faulty(text)).toEqual(wanted);
  });

  it.each([
    'const a = `x${1}` + "y";'.replace('1', 'b'),
    "import a from 'b';",
    'type A = 1 | true;',
    'interface A { b: 1 }',
    'logger.info(a);',
    'const a = "text";',
  ])('none: %s', (text) => {
    expect(faulty(text)).toEqual([]);
  });

  it('says where', () => {
    expect(mutantsOf('x.ts', 'a;\nb;\nconst c = !d;\n').map(({ line }) => line)).toEqual([3]);
  });
});

describe('whether the places of faults are reached', () => {
  const watched = (text: string) => mutantsOf('x.ts', text).map((mutant) => probed(text, [{ mutant, probe: 'p' }]));

  it.each([
    ['const a = b < c;', 'const a = (p, b < c);'],
    ['const a = b.some(c);', 'const a = (p, b.some(c));'],
    ['const a = b?.filter(c).d;', 'const a = (p, b?.filter(c).d);'],
    ['const a = b?.map(!c).d;', 'const a = b?.map((p, !c)).d;'],
    ['b.push = c;', '{ p; b.push = c; }'],
    ['for (;;) if (a) continue;', 'for (;;) { p; if (a) continue; }'],
  ])('%s', (text, wanted) => {
    expect(watched(text)[0]).toBe(wanted);
  });

  it.each([
    ['const a = b < 1;', 'const a = (p0, b < (p1, 1));'],
    ['const a = b < c && d;', 'const a = (p1, (p0, b < c) && d);'],
    ['if (a) b();', '{ p0, p1; if (a) { p2; b(); } }'],
    ['if (!a) b(); c();', '{ p0, p1; if ((p2, !a)) { p3; b(); } } { p4; c(); }'],
  ])('all at once: %s', (text, wanted) => {
    const all = mutantsOf('x.ts', text).map((mutant, at) => ({ mutant, probe: `p${at}` }));
    expect(probed(text, all)).toBe(wanted);
  });
});
