import { StringStream } from '@codemirror/language';
import { expect, it } from 'vitest';
import { type HclState, hclStream } from './hcl-stream.js';

const TAB = 2;

/** The pieces of a text that have a name, line by line: `keyword job`. */
function named(text: string): readonly (readonly string[])[] {
  const state = start();
  return text.split('\n').map((line) => piecesOf(line, state));
}

function start(): HclState {
  const state = hclStream.startState?.(TAB);
  if (!state) throw new Error('the parser has no first state');
  return state;
}

function piecesOf(line: string, state: HclState): readonly string[] {
  if (line === '') {
    hclStream.blankLine?.(state, TAB);
    return [];
  }
  const stream = new StringStream(line, TAB, TAB);
  const pieces: string[] = [];
  while (!stream.eol()) {
    stream.start = stream.pos;
    const name = hclStream.token(stream, state);
    if (stream.pos === stream.start) throw new Error(`the parser stands still in ${line}`);
    if (name !== null) pieces.push(`${name} ${stream.current()}`);
  }
  return pieces;
}

it('tells blocks, attributes, constants and numbers apart', () => {
  expect(named('job "web" {\n  count = 3\n  enabled = true # yes\n}')).toEqual([
    ['keyword job', 'string "web"', 'bracket {'],
    ['propertyName count', 'operator =', 'number 3'],
    ['propertyName enabled', 'operator =', 'atom true', 'comment # yes'],
    ['bracket }'],
  ]);
  expect(named('update {')).toEqual([['keyword update', 'bracket {']]);
  expect(named('a = b == c ? max(1, 2) : var.d')).toEqual([
    [
      'propertyName a',
      'operator =',
      'variableName b',
      'operator ==',
      'variableName c',
      'operator ?',
      'function max',
      'bracket (',
      'number 1',
      'operator ,',
      'number 2',
      'bracket )',
      'operator :',
      'variableName var',
      'operator .',
      'variableName d',
    ],
  ]);
});

it('reads what stands in a template, and goes on with the string', () => {
  expect(named('a = "x-${upper("y")}-z"')).toEqual([
    [
      'propertyName a',
      'operator =',
      'string "x-',
      'meta ${',
      'function upper',
      'bracket (',
      'string "y"',
      'bracket )',
      'meta }',
      'string -z"',
    ],
  ]);
  expect(named('a = "$${x} \\" \\\\" # end')[0]?.slice(2)).toEqual(['string "$${x} \\" \\\\"', 'comment # end']);
});

it('a heredoc lasts to its word, blank lines and quotes included', () => {
  expect(named('data = <<-EOT\n\n  {"a": 1} ${b}\n  EOT\nc = 1')).toEqual([
    ['propertyName data', 'operator =', 'string <<-EOT'],
    [],
    ['string   {"a": 1} ', 'meta ${', 'variableName b', 'meta }'],
    ['string   EOT'],
    ['propertyName c', 'operator =', 'number 1'],
  ]);
});

it('comments last to the end of the line or to their end', () => {
  expect(named('/* a\nb */ c = 1 // d')).toEqual([
    ['comment /* a'],
    ['comment b */', 'propertyName c', 'operator =', 'number 1', 'comment // d'],
  ]);
});

it('a string without an end ends with its line', () => {
  expect(named('a = "b\nc = 1')[1]).toEqual(['propertyName c', 'operator =', 'number 1']);
});

it('colours the names of members in JSON', () => {
  expect(named('{"ID": "web", "Count": 2}')).toEqual([
    [
      'bracket {',
      'propertyName "ID"',
      'operator :',
      'string "web"',
      'operator ,',
      'propertyName "Count"',
      'operator :',
      'number 2',
      'bracket }',
    ],
  ]);
});

it('indents by two for each open bracket, and not at all in a heredoc', () => {
  const after = (text: string): HclState => {
    const state = start();
    for (const line of text.split('\n')) piecesOf(line, state);
    return state;
  };
  const context = { unit: TAB } as Parameters<NonNullable<typeof hclStream.indent>>[2];
  const indent = (text: string, next: string) => hclStream.indent?.(after(text), next, context);
  expect(indent('job "a" {', 'x')).toBe(2);
  expect(indent('job "a" {\n  args = [', '"b"')).toBe(4);
  expect(indent('job "a" {', '}')).toBe(0);
  expect(indent('}', 'x')).toBe(0);
  expect(indent('a = <<E\n  text', 'x')).toBeNull();
});
