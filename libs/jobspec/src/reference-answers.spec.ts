import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseJob } from './parse-job.js';
import { JobspecError } from './syntax/diagnostic.js';

interface Answer {
  readonly expression: string;
  /** JSON. */
  readonly value?: string;
  readonly error?: string;
}

/** What the reference answers; golden/answers.go writes the file and names what is left out. */
const golden = JSON.parse(
  readFileSync(new URL('../golden/answers.json', import.meta.url), 'utf8'),
) as readonly Answer[];

/** Of an expression in a place that takes every type. */
function valueOf(expression: string): unknown {
  const text = `job "x" {\n task "t" {\n config {\n a = [${expression}\n]\n }\n }\n}\n`;
  const { job } = JSON.parse(JSON.stringify(parseJob({ file: { name: 'input.hcl', text } }))) as {
    job: { TaskGroups: [{ Tasks: [{ Config: { a: [unknown] } }] }] };
  };
  return job.TaskGroups[0].Tasks[0].Config.a[0];
}

describe("the reference's answers", () => {
  it('has many of them', () => expect(golden.length).toBeGreaterThan(600));

  it.each(golden.filter(({ value }) => value !== undefined))('JS-30: $expression', ({ expression, value = '' }) => {
    expect(valueOf(expression)).toEqual(JSON.parse(value, (_, one: unknown) => (Object.is(one, -0) ? 0 : one)));
  });

  it.each(golden.filter(({ error }) => error !== undefined))('refused: $expression', ({ expression }) => {
    expect(() => valueOf(expression)).toThrow(JobspecError);
  });

  /** Of `format` the texts, too, but where the reference says where in the format it is. */
  const texts = golden.filter(({ error = '' }) => error.includes('"format" failed: unsupported value'));
  it.each(texts)('JS-39: says of $expression what the reference does', ({ expression, error = '' }) => {
    expect(() => valueOf(expression)).toThrow(error);
  });
});
