import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseJob } from './parse-job.js';
import { JobspecError } from './syntax/diagnostic.js';

/** Of every text; a parse that takes longer is a way to hold up a server. */
const MAX_MS = 3000;
const MUTATIONS = 3000;
/** JOBSPEC_SEED varies it. */
const seed = Number(process.env['JOBSPEC_SEED'] ?? 1);

/** Numbers below one from a seed. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const SNIPPETS = [
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  '"',
  '${',
  '%{',
  '~}',
  '<<E\n',
  '\nE\n',
  '=',
  '==',
  '\n',
  'for',
  'null',
  '...',
  '/*',
  '#',
  '\\',
  'dynamic',
  '1e9',
  '-',
  '!',
  '.',
  '*',
  '\uFEFF',
  '😀',
  '\0',
  '=>',
  '?',
  ':',
];

it(`any text is a job or an error, in bounded time (seed ${seed})`, () => {
  const random = randomFrom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const examples = new URL('../../../examples/', import.meta.url);
  const contract = readFileSync(new URL('../../../docs/reference/jobspec.md', import.meta.url), 'utf8');
  const sources = [
    ...readdirSync(examples)
      .filter((name) => name.endsWith('.hcl'))
      .map((name) => readFileSync(new URL(name, examples), 'utf8')),
    ...[...contract.matchAll(/```hcl\n([^]*?)```/gu)].map(([, text]) => text!),
  ];
  let accepted = 0;
  for (let round = 0; round < MUTATIONS; round++) {
    let text = pick(sources);
    for (let left = 1 + Math.floor(random() * 4); left > 0; left--) {
      const at = Math.floor(random() * text.length);
      const cut = random() < 0.5 ? Math.floor(random() * 20) : 0;
      const put = random() < 0.7 ? pick(SNIPPETS) : text.slice(at, at + Math.floor(random() * 60));
      text = text.slice(0, at) + put + text.slice(at + cut);
    }
    const started = performance.now();
    try {
      parseJob({ file: { name: 'input.hcl', text }, canonicalise: true });
      accepted++;
    } catch (error) {
      if (!(error instanceof JobspecError)) throw new Error(`seed ${seed}, round ${round}:\n${text}`, { cause: error });
      expect(error.illustrated).not.toBe('');
    }
    expect(performance.now() - started, `seed ${seed}, round ${round}:\n${text}`).toBeLessThan(MAX_MS);
  }
  // Otherwise the mutations tell only about the first error of every text.
  expect(accepted).toBeGreaterThan(MUTATIONS / 50);
}, 60_000);
