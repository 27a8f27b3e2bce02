import { describe, expect, it } from 'vitest';
import { parseAgentConfig, parseJob, parseNamespace } from './index.js';
import { JobspecError } from './syntax/diagnostic.js';

const DEPTH = 100_000;
/** A text as long as a file may be must not hold anybody up, ms; on a machine that is busy with other tests. */
const MAX_MS = 50_000;

/** The errors of what is parsed, as they are shown; '' if there are none. */
function complaint(text: string): string {
  const before = performance.now();
  try {
    parseJob({ file: { name: 'deep.hcl', text } });
    return '';
  } catch (error) {
    if (!(error instanceof JobspecError)) throw error;
    return error.message;
  } finally {
    expect(performance.now() - before).toBeLessThan(MAX_MS);
  }
}

const around = (open: string, inner: string, close: string, depth = DEPTH): string =>
  open.repeat(depth) + inner + close.repeat(depth);

const EXPRESSIONS: Readonly<Record<string, string>> = {
  'operators in a row': `1${'+1'.repeat(DEPTH)}`,
  'logical operators in a row': `true${'||true'.repeat(DEPTH)}`,
  'chains within chains': around('(', '1', `)${'+1'.repeat(249)}`, 150),
  parentheses: around('(', '1', ')'),
  tuples: around('[', '', ']'),
  objects: around('{a=', '1', '}'),
  signs: `${'-'.repeat(DEPTH)}1`,
  negations: `${'!'.repeat(DEPTH)}true`,
  attributes: `[1]${'.a'.repeat(DEPTH)}`,
  indexes: `[1]${'[0]'.repeat(DEPTH)}`,
  splats: `[1]${'[*]'.repeat(DEPTH)}`,
  'steps of a splat': `[1][*]${'.a'.repeat(DEPTH)}`,
  conditionals: `${'true?1:'.repeat(DEPTH)}1`,
  calls: around('abs(', '1', ')'),
  templates: around('"${', '1', '}"'),
  directives: `"${around('%{if true}', '', '%{endif}', DEPTH / 2)}"`,
  'for expressions': around('[for x in ', '[]', ':x]', DEPTH / 2),
  'YAML in brackets': `yamldecode("${around('[', '', ']')}")`,
  'YAML in dashes': `yamldecode("${'- '.repeat(DEPTH)}1")`,
  JSON: `jsondecode("${around('[', '', ']')}")`,
};

describe(
  'what is nested deeply is an error with its place, and never the end of the stack',
  { timeout: 60_000 },
  () => {
    it.each(Object.entries(EXPRESSIONS))('%s in a job', (_name, expression) => {
      const said = complaint(`job "x" {\n  priority = ${expression}\n}`);
      expect(said).toMatch(/^deep\.hcl:2,\d+/);
      expect(said).not.toContain('call stack');
    });

    it.each(Object.entries(EXPRESSIONS))('%s in locals and in the default of a variable', (_name, expression) => {
      const locals = complaint(`locals {\n  a = ${expression}\n}\njob "x" {}`);
      const variable = complaint(`variable "a" {\n  default = ${expression}\n}\njob "x" {}`);
      for (const said of [locals, variable]) expect(said).toMatch(/deep\.hcl:2,\d+/);
    });

    it('blocks, types and comments', () => {
      expect(complaint('a {\n'.repeat(DEPTH))).toMatch(/^deep\.hcl:201,\d+.*Nesting too deep/);
      expect(complaint(`variable "x" {\n type = ${around('list(', 'string', ')')}\n}`)).toMatch(/^deep\.hcl:2,\d+/);
      expect(complaint('/*'.repeat(DEPTH))).toMatch(/^deep\.hcl:1,\d+/);
    });

    it('values that grow from local to local', () => {
      const grown = (text: (i: number) => string, last: number): string =>
        `locals {\n${Array.from({ length: last }, (_, i) => `a${i + 1} = ${text(i)}`).join('\n')}\na0 = 1\n}\njob "x" {}`;
      expect(complaint(grown((i) => `[local.a${i}]`, 900))).toMatch(/^deep\.hcl:202,.*Nesting too deep/);
      expect(complaint(grown((i) => `local.a${i}`, 900))).toBe('');
      expect(complaint(grown((i) => `local.a${i}`, 20_000))).toMatch(/^deep\.hcl:1002,.*Too many locals/);
    });

    it('lists are long, not deep', () => {
      expect(complaint(`locals {\n  a = max([${'1,'.repeat(2 * DEPTH)}]...)\n}\njob "x" {}`)).toBe('');
    });

    it('other files in the language', () => {
      for (const parse of [parseAgentConfig, parseNamespace])
        for (const expression of [EXPRESSIONS['operators in a row'], EXPRESSIONS['tuples']])
          expect(() => parse({ name: 'deep.hcl', text: `name = ${expression}` })).toThrow(JobspecError);
    });
  },
);

it('what people write is far from the limits', () => {
  const many = Array.from({ length: 100 }, (_, i) => String(i));
  expect(complaint(`locals {\n  a = ${many.join(' + ')}\n}\njob "x" {}`)).toBe('');
  expect(complaint(`locals {\n  a = ${around('[', '1', ']', 100)}\n}\njob "x" {}`)).toBe('');
});

it('an index with more digits than a number has room for is an error with its place', () => {
  expect(complaint(`job "a" { type = a.${'4'.repeat(4_000)} }`)).toMatch(/^deep\.hcl:1,19-4020: Invalid number; /);
});
