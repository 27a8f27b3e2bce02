import { describe, expect, it } from 'vitest';
import { linesOfCode, proseOf, refusalsByStatus, ruleComments, signatures, spreadPushes } from './findings.mjs';

describe('what a reader stumbles over', () => {
  it('finds refusals that are described by a status', () => {
    const source = '/** @throws Refusal invalid */\n/** Of a job. @throws DecodeError, Refusal 400 */\n';
    expect(refusalsByStatus(source)).toEqual([{ line: 2, text: '@throws DecodeError, Refusal 400' }]);
  });

  it('finds lists that are spread into the arguments of push', () => {
    const source = 'rows.push(one);\nrows.push([...more]);\nrows.push(...more);\n';
    expect(spreadPushes(source)).toEqual([{ line: 3, text: '.push(...more);' }]);
  });

  it('finds comments that are only rule numbers, with their line', () => {
    const source = [
      'const a = 1;',
      '/** EB-66. */',
      '// ST-21, EV-3 and GC-4 to 6',
      '/** Nacks it (EB-66). */',
      '/** Two. */',
    ];
    expect(ruleComments(source.join('\n'))).toEqual([
      { line: 2, text: 'EB-66.' },
      { line: 3, text: 'ST-21, EV-3 and GC-4 to 6' },
    ]);
  });

  it('finds comments that start with a rule number, but not lines of a sentence', () => {
    const source = [
      '/** EB-66: after the timeout. */',
      '/**',
      ' * API-309. The task is undefined.',
      ' */',
      '// Two updates count once',
      '// (ST-82).',
      '/** UTF-16 units. */',
    ];
    expect(ruleComments(source.join('\n'))).toEqual([
      { line: 1, text: 'EB-66: after the timeout.' },
      { line: 2, text: 'API-309. The task is undefined.' },
    ]);
  });

  it('finds bare verbs and long parameter lists', () => {
    const source = 'class A {\n  run() {}\n  readRow() {}\n}\nfunction f(a: 1, b: 1, c: 1, d: 1, e: 1) {}\n';
    expect(signatures('a.ts', source)).toEqual({
      verbs: [{ line: 2, text: 'run()' }],
      parameters: [{ line: 5, text: 'f: 5 parameters' }],
    });
  });

  it('leaves out functions that replace matches, but not the functions in them', () => {
    const source = 's.replaceAll(/a/g, (a, b, c, d, e) => a);\ns.replace(/a/, () => f((a, b, c, d, e) => {}));\n';
    expect(signatures('a.ts', source).parameters).toEqual([{ line: 2, text: 'function: 5 parameters' }]);
  });

  it('leaves out the run of a command', () => {
    const source = 'async function run() {}\nasync function read() {}\n';
    expect(signatures('apps/cli/src/commands/ui.ts', source).verbs).toEqual([{ line: 2, text: 'read()' }]);
    expect(signatures('apps/cli/src/server/ui.ts', source).verbs).toHaveLength(2);
  });

  it('leaves out the ask of an Rpc', () => {
    const source = 'class A implements Rpc {\n  ask() {}\n}\nclass B {\n  ask() {}\n}\n';
    expect(signatures('a.ts', source).verbs).toEqual([{ line: 5, text: 'ask()' }]);
  });

  it('counts lines of code without imports and comments', () => {
    expect(linesOfCode("import { a } from 'a';\n\n/** Why. */\nexport const b = a;\n")).toBe(1);
  });

  it('keeps the offsets of prose', () => {
    const page = 'A `b` c.\n```sh\nrun\n```\nD.\n';
    expect(proseOf(page)).toHaveLength(page.length);
    expect(proseOf(page)).not.toContain('run');
  });
});
