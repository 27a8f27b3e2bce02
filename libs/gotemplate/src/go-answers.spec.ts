import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Template } from './template.js';
import { TemplateError } from './template-error.js';

interface Answer {
  readonly template: string;
  readonly output?: string;
  readonly error?: string;
}

/** What Go itself answers; golden/answers.go writes the file. */
const golden = JSON.parse(readFileSync(new URL('../golden/answers.json', import.meta.url), 'utf8')) as {
  readonly data: unknown;
  readonly answers: readonly Answer[];
};

const execute = (template: string): string => new Template(template).execute(golden.data);

describe("Go's answers", () => {
  it.each(golden.answers.filter(({ output }) => output !== undefined))('$template', ({ template, output }) => {
    expect(execute(template)).toBe(output);
  });

  it.each(golden.answers.filter(({ error }) => error !== undefined))('refused: $template', ({ template, error }) => {
    const line = Number(/^template: t:(\d+)/.exec(error ?? '')?.[1]);
    expect(() => execute(template)).toThrow(TemplateError);
    expect(() => execute(template)).toThrow(expect.objectContaining({ place: expect.objectContaining({ line }) }));
  });
});
