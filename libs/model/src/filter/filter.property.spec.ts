import { expect, it } from 'vitest';
import { compilePattern, Filter, FilterEvaluationError, FilterSyntaxError, FilterTooExpensiveError } from './index.js';

/** FILTER_SEED varies it. */
const SEED = Number(process.env['FILTER_SEED'] ?? 1);

/** Choices from a seed (a linear congruential generator: good enough to vary a test). */
class Choices {
  private state: number;
  constructor(seed: number) {
    this.state = (seed * 2_654_435_761 + 1) >>> 0;
  }

  below(n: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * n);
  }

  of<T>(options: readonly T[]): T {
    return options[this.below(options.length)] as T;
  }

  many<T>(max: number, one: () => T): T[] {
    return Array.from({ length: this.below(max + 1) }, one);
  }
}

const REPEATABLE = ['a', 'b', '.', '[ab]', '[^a]', '\\w', '\\d', 'c'];

/** Patterns that RE2 and JavaScript understand alike. */
function pattern(choices: Choices, depth: number): string {
  const part = (): string => {
    const times = choices.of(['', '', '*', '+', '?', '{2}', '{1,2}', '*?']);
    if (depth > 0 && choices.below(3) === 0)
      return `${choices.of(['(', '(?:'])}${pattern(choices, depth - 1)})${times}`;
    if (choices.below(5) === 0) return choices.of(['^', '$', '\\b', '\\B']);
    return choices.of(REPEATABLE) + times;
  };
  const sequence = (): string => choices.many(4, part).join('');
  return [sequence(), ...choices.many(1, sequence)].join('|');
}

it(`API-70: a regular expression matches what it matches elsewhere (seed ${SEED})`, { timeout: 60_000 }, () => {
  const choices = new Choices(SEED);
  for (let run = 0; run < 4_000; run++) {
    const source = pattern(choices, 1); // nested deeper, the other one may take for ever
    const text = choices.many(12, () => choices.of(['a', 'b', 'c', ' ', '1'])).join('');
    expect(
      compilePattern(source).test(text, () => {}),
      `${source} on ${JSON.stringify(text)}`,
    ).toBe(new RegExp(source).test(text));
  }
});

it(
  `API-71: whatever is typed is answered by yes, no or one of the named errors (seed ${SEED})`,
  { timeout: 60_000 },
  () => {
    const choices = new Choices(SEED);
    const words =
      'ID Meta Tags == != in not is empty nil and or any all as { } ( ) , "x" `y` 7 . ["k"] matches contains "/Meta/k" _ x "(" \u{1f600} \\'.split(
        ' ',
      );
    const object = { ID: 'x', Meta: { k: 'v', x: '7' }, Tags: ['x', 'y'], Job: null, Count: 3 };
    const decided = { yesOrNo: 0, refused: 0 };
    for (let run = 0; run < 20_000; run++) {
      const text = choices.many(10, () => choices.of(words)).join(choices.of([' ', ' ', ' ', '']));
      try {
        expect(typeof Filter.parse(text).matches(object)).toBe('boolean');
        decided.yesOrNo++;
      } catch (error) {
        const named = [FilterSyntaxError, FilterEvaluationError, FilterTooExpensiveError];
        expect(
          named.some((kind) => error instanceof kind),
          `${text}: ${String(error)}`,
        ).toBe(true);
        decided.refused++;
      }
    }
    expect(decided.yesOrNo).toBeGreaterThan(0);
    expect(decided.refused).toBeGreaterThan(0);
  },
);
