import { FilterSyntaxError, replaceMatches } from '@waybill/model/pattern-replacement';
import { charactersOf } from '../characters.js';
import { Decimal } from '../evaluation/decimal.js';
import { lowerCase, titleCase, upperCase } from './letter-case.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { list, type Value } from '../evaluation/value.js';
import { formatted, formattedList } from './format.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { any, itemsOf, num, of, onText, str, strings, textOf, wholeOf, nullable } from './parameters.js';

const reversed = onText((text) => charactersOf(text).toReversed().join(''));

export const STRING_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  chomp: onText((text) => text.replace(/[\r\n]+$/u, '')),
  format: of(
    [str('format')],
    ([format, ...args], budget) => budget.text(formatted(textOf(format), args)),
    nullable('args'),
  ),
  formatlist: of(
    [str('format')],
    ([format, ...args], budget) => formattedList(textOf(format), args, budget),
    any('args'),
  ),
  indent: of([num('spaces'), str()], ([spaces, text], budget) =>
    budget.text(textOf(text).replaceAll('\n', `\n${' '.repeat(bounded(wholeOf(spaces)))}`)),
  ),
  join: of(
    [str('separator')],
    ([separator, ...lists], budget) =>
      budget.text(lists.flatMap((one) => itemsOf(one).map(textOf)).join(textOf(separator))),
    strings('lists'),
  ),
  lower: onText(lowerCase),
  upper: onText(upperCase),
  title: onText(titleCase),
  regex_replace: of([str(), str('pattern'), str('replace')], ([text, pattern, replacement], budget) =>
    regexReplaced(textOf(text), textOf(pattern), textOf(replacement), budget),
  ),
  replace: of([str(), str('substr'), str('replace')], ([text, old, replacement], budget) =>
    literallyReplaced(textOf(text), textOf(old), textOf(replacement), budget),
  ),
  reverse: reversed,
  strrev: reversed,
  split: of([str('separator'), str()], ([separator, text], budget) => {
    const parts = textOf(separator) === '' ? Array.from(textOf(text)) : textOf(text).split(textOf(separator));
    budget.spend(parts.length);
    return list(parts);
  }),
  strlen: onText((text) => Decimal.of(charactersOf(text).length)),
  substr: of([str(), num('offset'), num('length')], ([text, offset, length]) =>
    part(charactersOf(textOf(text)), wholeOf(offset), wholeOf(length)),
  ),
  trim: of([str(), str('cutset')], ([text, cutset]) => trimmed(textOf(text), textOf(cutset))),
  trimprefix: of([str(), str('prefix')], ([text, prefix]) =>
    textOf(text).startsWith(textOf(prefix)) ? textOf(text).slice(textOf(prefix).length) : textOf(text),
  ),
  trimsuffix: of([str(), str('suffix')], ([text, suffix]) =>
    textOf(suffix) !== '' && textOf(text).endsWith(textOf(suffix))
      ? textOf(text).slice(0, -textOf(suffix).length)
      : textOf(text),
  ),
  trimspace: onText((text) => text.trim()),
};

const MAX_INDENTATION = 1000;

function bounded(spaces: number): number {
  if (spaces >= 0 && spaces <= MAX_INDENTATION) return spaces;
  throw new FunctionError(`spaces must be between 0 and ${MAX_INDENTATION}`);
}

function literallyReplaced(text: string, old: string, replacement: string, budget: StepBudget): string {
  const times = old === '' ? text.length + 1 : text.split(old).length - 1;
  budget.spend((times * replacement.length) >> 8);
  return budget.text(text.replaceAll(old, () => replacement));
}

/** Number of steps of the search that cost one step of the evaluation. */
const SEARCH_STEPS_PER_STEP = 16;

function regexReplaced(text: string, pattern: string, replacement: string, budget: StepBudget): string {
  try {
    const spend = (steps: number): void => budget.spend(steps / SEARCH_STEPS_PER_STEP);
    return budget.text(replaceMatches(text, pattern, replacement, spend));
  } catch (error) {
    if (error instanceof FilterSyntaxError) throw new FunctionError(error.message);
    throw error;
  }
}

function part(characters: readonly string[], offset: number, length: number): Value {
  const start = Math.max(0, offset < 0 ? characters.length + offset : offset);
  return characters.slice(start, length < 0 ? undefined : start + length).join('');
}

function trimmed(text: string, cutset: string): string {
  const characters = charactersOf(text);
  const cut = new Set(charactersOf(cutset));
  const first = characters.findIndex((one) => !cut.has(one));
  if (first === -1) return '';
  const last = characters.findLastIndex((one) => !cut.has(one));
  return characters.slice(first, last + 1).join('');
}
