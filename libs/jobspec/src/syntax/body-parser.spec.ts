import { describe, expect, it } from 'vitest';
import { parseBody } from './body-parser.js';
import { JobspecError } from './diagnostic.js';
import { SourceText } from './source-text.js';

const parsed = (text: string) => parseBody(new SourceText('input.hcl', text));

function refusal(text: string): string {
  try {
    parsed(text);
  } catch (error) {
    if (error instanceof JobspecError) return error.message;
    throw error;
  }
  return 'no error';
}

/** The value of `a` when it is a constant. */
function constant(expression: string): unknown {
  const value = parsed(`a = ${expression}\n`).attributes[0]?.value;
  return value?.type === 'literal' ? (value.value?.valueOf() ?? null) : value?.type;
}

describe('syntax', () => {
  it.each([
    [
      'job "x" {\n group "g" {',
      'input.hcl:2,12-13: Unclosed configuration block; There is no closing brace for this block before the end of the file. This may be caused by incorrect brace nesting elsewhere in this file.',
    ],
    [
      'job "x" {\n region =\n}',
      'input.hcl:2,10-3,1: Invalid expression; Expected the start of an expression, but found an invalid expression token.',
    ],
    [
      'job "x"\n{\n}',
      'input.hcl:1,8-2,1: Invalid block definition; A block definition must have block content delimited by "{" and "}", starting on the same line as the block header.',
    ],
    [
      'job "x" {\n}\n}',
      'input.hcl:3,1-2: Argument or block definition required; An argument or block definition is required here.',
    ],
    [
      'job "x" {\n datacenters = [\n  "a"\n  "b"\n ]\n}',
      'input.hcl:4,3-4: Missing item separator; Expected a comma to mark the beginning of the next item.',
    ],
  ])('JS-193: %j', (text, message) => {
    expect(refusal(text)).toBe(message);
  });

  it('JS-10: a byte-order mark is skipped, CRLF ends a line, and stays in a heredoc', () => {
    expect(parsed('\uFEFFa = 1\r\nb = 2\r\n').attributes.map((one) => one.name)).toEqual(['a', 'b']);
    expect(constant('<<E\r\nx\r\nE\r')).toBe('x\r\n');
  });

  it('JS-11: comments of three kinds, none of them in a string', () => {
    expect(parsed('# a\n// b\na /* c\nd */ = "# no" // e\n').attributes).toHaveLength(1);
    expect(constant('"/* # // */"')).toBe('/* # // */');
  });

  it('JS-12: one item a line; brackets let newlines pass', () => {
    expect(refusal('a = 1 b = 2\n')).toContain('1,7-8: Missing newline after argument');
    expect(refusal('a = 1;\n')).toContain('Invalid character');
    expect(refusal('a = 1,\n')).toContain('Missing newline after argument');
    expect(refusal('a =\n1\n')).toContain('Invalid expression');
    expect(parsed('a = (1\n+\n2)\nb = [\n1,\n2\n,]\n').attributes).toHaveLength(2);
  });

  it('JS-13: labels are literal strings or bare names', () => {
    expect(parsed('x "a\\n" b "$${c}" "" {}\n').blocks[0]?.labels.map((label) => label.text)).toEqual([
      'a\n',
      'b',
      '${c}',
      '',
    ]);
    expect(refusal('x "${a}" {}\n')).toContain(
      'Invalid string literal; Template sequences are not allowed in this string.',
    );
  });

  it('JS-14: a block on one line holds one argument at most', () => {
    expect(parsed('x {}\ny { a = 1 }\n').blocks).toHaveLength(2);
    expect(refusal('x { a = 1, b = 2 }')).toContain('Invalid single-argument block definition');
    expect(refusal('x { y { } }')).toContain(
      'Argument definition required; A single-line block definition can contain only a single argument.',
    );
  });

  it('JS-15: names may have dashes, and are never quoted', () => {
    expect(parsed('a-b = c-d\né = e - f\n').attributes.map((one) => one.value.type)).toEqual(['reference', 'binary']);
    expect(refusal('"a" = 1')).toContain('Invalid argument name; Argument names must not be quoted.');
  });

  it('JS-16: an argument is set once', () => {
    expect(refusal('x {\n priority = 1\n priority = 2\n}')).toBe(
      'input.hcl:3,2-10: Attribute redefined; The argument "priority" was already set at input.hcl:2,2-10. Each argument may be set only once.',
    );
  });

  it('JS-17: numbers', () => {
    expect(String(constant('010'))).toBe('10');
    expect(String(constant('1.50e2'))).toBe('150');
    for (const bad of ['0x10', '1_000', '.5', '1.']) expect(refusal(`a = ${bad}\n`)).not.toBe('no error');
  });

  it('JS-18: strings are one line, with the escapes of the list and no others', () => {
    expect(constant('"\\n\\r\\t\\"\\\\\\u00e9\\U0001F600"')).toBe('\n\r\t"\\é😀');
    expect(refusal('a = "\\q"')).toContain(
      'Invalid escape sequence; The symbol "q" is not a valid escape sequence selector.',
    );
    expect(refusal('a = "x\ny"')).toContain('Invalid multi-line string');
    expect(refusal("a = 'x'")).toContain('Single quotes are not valid');
  });

  it('JS-19: dollars and percents are themselves unless a brace follows', () => {
    expect(constant('"$${a} %%{b} $$FOO 5% $"')).toBe('${a} %{b} $$FOO 5% $');
    expect(refusal('a = "50%{x"')).toContain('Invalid template control keyword');
  });

  it('JS-21: a heredoc ends at the first line that holds only its marker', () => {
    expect(constant('<<E\n a\\n "b"\nE x\n  E\n')).toBe(' a\\n "b"\nE x\n');
    expect(refusal('a = <<E\nx\nE')).toContain(
      'Unterminated template string; No closing marker was found for the string.',
    );
  });

  it('JS-22: <<- takes any number of lines', () => {
    const lines = 300_000;
    expect(constant(`<<-E\n${' a\n'.repeat(lines)}E\n`)).toBe('a\n'.repeat(lines));
  });

  it('JS-22: <<- takes away the smallest indentation', () => {
    expect(constant('<<-E\n    a\n\t  b\n \n      c\n        E\n')).toBe(' a\nb\n \n   c\n');
  });

  it('JS-23: elseif is not a word of the language', () => {
    expect(refusal('a = "%{ if a }%{ elseif b }%{ endif }"')).toContain(
      'Invalid template control keyword; "elseif" is not a valid template control keyword. Did you mean "else"?',
    );
  });

  it('JS-32: a key with a dot is ambiguous', () => {
    expect(refusal('a = { a.b = 1 }')).toContain('Ambiguous attribute key');
  });

  it('nesting has a limit, not a crash', () => {
    expect(refusal(`a = ${'['.repeat(5000)}`)).toContain('Nesting too deep');
    expect(refusal('x {\n'.repeat(5000))).toContain('Nesting too deep');
    expect(refusal(`a = ${'-'.repeat(5000)}1`)).toContain('Nesting too deep');
    expect(refusal(`a = ${'"${'.repeat(5000)}`)).toContain('Nesting too deep');
    expect(refusal(`a = 1e999999999\n`)).toContain('Invalid number');
  });

  it('JS-190: columns are characters, and the excerpt points at them', () => {
    const source = new SourceText('input.hcl', 'a = "😀é"  b\n');
    expect(source.rangeOf({ start: source.text.indexOf('b'), end: source.text.indexOf('b') + 1 })).toBe(
      'input.hcl:1,11-12',
    );
    expect(new SourceText('x', 'k = 1\n\tfoo = 2\n').excerptOf({ start: 7, end: 10 })).toBe(
      '  2 | \tfoo = 2\n    | \t^^^',
    );
  });
});
