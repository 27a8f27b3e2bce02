import { describe, expect, it } from 'vitest';
import { Template, TemplateLimitError, TemplateSyntaxError } from './index.js';

const DEPTH = 100_000;
const around = (open: string, inner: string, close: string, depth = DEPTH): string =>
  open.repeat(depth) + inner + close.repeat(depth);

/** More than the default lets through, so that depth and not length is what is refused. */
const limits = { sourceLength: 10_000_000 };
const executed = (text: string): unknown => new Template(text, { limits }).execute({});

describe(
  'what is nested deeply is an error with its place, and never the end of the stack',
  { timeout: 60_000 },
  () => {
    it.each([
      ['parentheses', `{{ ${around('(', '1', ')')} }}`],
      ['if', around('{{if true}}', '', '{{end}}')],
      ['with', around('{{with 1}}', '', '{{end}}')],
      ['else if', `{{if true}}${'{{else if true}}'.repeat(DEPTH)}{{end}}`],
      ['block', '{{block "a" .}}'.repeat(DEPTH)],
      ['templates that call themselves', '{{define "a"}}{{template "a"}}{{end}}{{template "a"}}'],
    ])('%s', (_name, text) => {
      expect(() => executed(text)).toThrow(/template:1:\d+: /);
      expect(() => executed(text)).toThrow(TemplateLimitError);
    });

    it('brackets that nothing closes', () => {
      expect(() => executed('{{'.repeat(DEPTH))).toThrow(TemplateSyntaxError);
    });

    it('what is long is not deep', () => {
      expect(executed(`{{ 1 ${'| print'.repeat(DEPTH)} }}`)).toBe('1');
      expect(executed(`{{ print ${'.a'.repeat(DEPTH)} }}`)).toBe('<nil>');
    });
  },
);
