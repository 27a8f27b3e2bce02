import { describe, expect, it } from 'vitest';
import { type JobSource, parseJob } from './parse-job.js';
import { JobspecError } from './syntax/diagnostic.js';
import { mergedVariableTexts } from './variable-texts.js';

const meta = (before: string, expression: string, more: Partial<JobSource> = {}) =>
  parseJob({
    file: { name: 'input.hcl', text: `${before}\njob "x" {\n name = jsonencode(${expression})\n}\n` },
    ...more,
  }).job['Name'] as string;
const value = (...args: Parameters<typeof meta>) => JSON.parse(meta(...args));

function wrong(...args: Parameters<typeof meta>): string {
  try {
    meta(...args);
  } catch (error) {
    if (error instanceof JobspecError) return error.message;
    throw error;
  }
  return 'no error';
}
const files = (...texts: string[]) => ({ variableFiles: texts.map((text, at) => ({ name: `${at}.hcl`, text })) });

describe('variables', () => {
  it('JS-2: a value for an undeclared variable is no error where that is allowed, and nothing is said of it', () => {
    const given = { ...files('other = 1\n'), environment: { other: '2' } };
    expect(value('variable "a" { default = 1 }', 'var.a', given)).toBe(1);
    expect(wrong('variable "a" { default = 1 }', 'var.a', { ...given, strict: true })).toContain('Undefined variable');
  });

  it('JS-232: of several files that set one name, the last assignment stays, and all can be read again', () => {
    const texts = mergedVariableTexts([
      { name: '0.hcl', text: 'a = <<E\nold\nE\n# kept\nb = [\n 1,\n]\n' },
      { name: '1.hcl', text: 'c = 3\na = "new"\n' },
      { name: '2.hcl', text: 'b = [2]\n' },
    ]);
    expect(texts).toEqual([expect.stringMatching(/^\s*# kept\s*$/), 'c = 3\na = "new"\n', 'b = [2]\n']);
    const declared = 'variable "a" {}\nvariable "b" {}\nvariable "c" {}';
    expect(value(declared, '[var.a, var.b, var.c]', files(texts.join('\n')))).toEqual(['new', [2], 3]);
  });

  it('JS-71: what a declaration may hold', () => {
    expect(wrong('variable "a" { sensitive = true }', '1')).toContain(
      'An argument named "sensitive" is not expected here.',
    );
    expect(wrong('variable "a" {}\nvariables { a = 1 }', '1')).toContain(
      'Duplicate variable; Duplicate a variable definition found.',
    );
    expect(wrong('variable "1a" {}', '1')).toContain(
      'Invalid variable name; A name must start with a letter or underscore',
    );
  });

  it('JS-72: types convert', () => {
    const before = 'variable "o" { type = object({ a = number, b = set(string) }) }\n';
    expect(value(before, 'var.o', files('o = { a = "1", b = ["y", "x", "y"], c = 3 }\n'))).toEqual({
      a: 1,
      b: ['x', 'y'],
    });
    expect(wrong(before, 'var.o', files('o = { a = 1 }\n'))).toContain(
      'Invalid value for variable; The value for o is not compatible',
    );
    expect(value('variable "t" {\n type = tuple([string, bool])\n default = [1, "true"]\n}', 'var.t')).toEqual([
      '1',
      true,
    ]);
    for (const type of ['any', 'list', '"string"', 'optional(string)'])
      expect(wrong(`variable "a" { type = ${type} }`, '1')).toContain('Invalid type specification');
  });

  it('JS-73: defaults and files are constants', () => {
    expect(wrong('variable "a" { default = upper("x") }', '1')).toContain(
      'Function calls not allowed; Functions may not be called here.',
    );
    expect(wrong('variable "a" { default = node.name }', '1')).toContain(
      'Variables not allowed; Variables may not be used here.',
    );
    expect(value('variable "a" { default = "$${node.name}" }', 'var.a')).toBe('${node.name}');
  });

  it('JS-74 JS-75 JS-80: four sources, the later wins, of one name the last', () => {
    const before = 'variables { a = "default" }';
    const environment = { a: 'env' };
    expect(value(before, 'var.a')).toBe('default');
    expect(value(before, 'var.a', { environment })).toBe('env');
    expect(value(before, 'var.a', { environment, ...files('a = "one"\n', 'a = "two"\n') })).toBe('two');
    expect(value(before, 'var.a', { environment, ...files('a = "one"\n'), flags: ['a=x', 'a=y=z', 'ignored'] })).toBe(
      'y=z',
    );
  });

  it('JS-76: text for strings and numbers, an expression for the rest', () => {
    const flags = ['s=["a"]', 'n=5', 'l=["a","b"]', 'm={k="v"}', 'b=true', 'u=["raw"]'];
    const before =
      'variable "s" { type = string }\nvariable "n" { type = number }\nvariable "l" { type = list(string) }\nvariable "m" { type = map(string) }\nvariable "b" { type = bool }\nvariable "u" {}';
    expect(value(before, '[var.s, var.n, var.l, var.m, var.b, var.u]', { flags })).toEqual([
      '["a"]',
      5,
      ['a', 'b'],
      { k: 'v' },
      true,
      '["raw"]',
    ]);
    expect(wrong('variable "l" { default = [1] }', '1', { flags: ['l=[1, 2]'] })).toContain(
      'Invalid argument value for -var variable',
    );
  });

  it('JS-77: variable files hold assignments only, and are read first', () => {
    expect(wrong('', '1', files('variable "a" {}\n'))).toContain('Variable declaration in a .var file');
    expect(wrong('', '1', files('foo {}\n'))).toContain('Unexpected "foo" block; Blocks are not allowed here.');
    expect(wrong('(', '1', files('a = \n'))).toContain(
      'unable to parse var content: 0.hcl:1,5-2,1: Invalid expression',
    );
  });

  it('JS-78: undeclared names', () => {
    expect(value('', '1', { flags: ['zz=1'], ...files('yy = 1\n'), environment: { xx: '1' } })).toBe(1);
    expect(wrong('', '1', { flags: ['zz=1'], strict: true })).toContain(
      'Undefined -var variable; A "zz" variable was passed in the command line',
    );
    expect(wrong('', '1', { ...files('yy = 1\n'), strict: true })).toContain(
      'Undefined variable; A "yy" variable was set but was not found in known variables.',
    );
    expect(value('', '1', { environment: { xx: '1' }, strict: true })).toBe(1);
  });

  it('JS-79 JS-230: every variable needs a value; null is one', () => {
    expect(wrong('variable "a" {}', '1')).toContain('<nil>: Unset variable "a"');
    expect(value('variable "a" { default = null }', 'var.a')).toBeNull();
  });

  it('JS-80, JS-79: a value that cannot be parsed, or is of the wrong type, is reported once, and not as unset too', () => {
    const list = 'variable "a" { type = list(string) }';
    for (const given of [{ flags: ['a=[1'] }, { environment: { a: '[1' } }, files('a = nope()\n')]) {
      expect(wrong(list, '1', given)).not.toContain('Unset variable');
      expect(wrong(list, '1', given)).not.toBe('no error');
    }
    expect(wrong(list, '1', { flags: ['a=1'] })).not.toContain('Unset variable');
  });

  it('JS-80: values of the wrong type', () => {
    const number = 'variable "a" { type = number }';
    expect(wrong(number, '1', { flags: ['a=x'] })).toBe(
      "<value for var.a from arguments>:0,0-0: Invalid argument value for -var variable; The received arg value for a is not compatible with the variable's type constraint: a number is required.",
    );
    expect(wrong(number, '1', { environment: { a: 'x' } })).toContain(
      '<value for var.a from env>:0,0-0: Invalid value for variable',
    );
    expect(wrong('variable "a" {\n type = number\n default = "x"\n}', '1')).toContain(
      'Invalid default value for variable; This default value is not compatible',
    );
  });

  it('JS-81: validations check the value that counts, and say where it came from', () => {
    const before = (condition: string, message = '"too small"') =>
      `variable "a" {\n default = 0\n validation {\n  condition = ${condition}\n  error_message = ${message}\n }\n}`;
    expect(wrong(before('var.a > 0'), '1')).toBe(
      'input.hcl:3,2-12: Invalid value for default variable; too small\n\nThis was checked by the validation rule at input.hcl:3,2-12.',
    );
    expect(wrong(before('var.a > 0'), '1', { environment: { a: '-1' } })).toContain('Invalid value for env variable');
    expect(wrong(before('var.a > 0'), '1', { flags: ['a=-1'] })).toContain('Invalid value for cmd variable');
    expect(wrong(before('var.a > 0'), '1', files('a = -1\n'))).toContain('Invalid value for varfile variable');
    expect(value(before('var.a > 0'), 'var.a', { flags: ['a=1'] })).toBe(1);
    expect(wrong(before('var.a > 0', '" "'), '1')).toContain(
      'Invalid validation error message; An empty or blank string is not a valid nor useful error message.',
    );
    expect(wrong(before('true'), '1')).toContain('must refer to var.a');
    expect(wrong(before('var.a > local.b'), '1')).toContain('can only refer to the variable itself');
  });

  it('JS-82 JS-230: a condition yields true or false, and is not missing', () => {
    const before = (body: string) =>
      `variable "a" {\n default = 0\n validation {\n${body}\n error_message = "x"\n }\n}`;
    expect(wrong(before('condition = var.a'), '1')).toContain('Invalid variable validation result');
    expect(wrong(before(''), '1')).toContain('The argument "condition" is required');
  });

  it('JS-83: locals in any order, cycles and repetitions', () => {
    expect(value('locals {\n a = "${local.b}!"\n b = lower("B")\n c = node.name\n}', '[local.a, local.c]')).toEqual([
      'b!',
      '${node.name}',
    ]);
    expect(wrong('locals {\n a = local.b\n b = local.a\n}', '1')).toMatch(
      /Unsupported attribute; This object does not have an attribute named "[ab]"/u,
    );
    expect(wrong('locals { a = 1 }\nlocals { a = 2 }', '1')).toContain(
      'Duplicate value in locals; Duplicate a definition found.',
    );
  });

  it('JS-231: a heredoc at the very end of a variable file needs its newline', () => {
    expect(wrong('variable "a" {}', '1', files('a = <<EOF\nx\nEOF'))).toContain('Unterminated template string');
    expect(value('variable "a" {}', 'var.a', files('a = <<EOF\nx\nEOF\n'))).toBe('x\n');
  });
});
