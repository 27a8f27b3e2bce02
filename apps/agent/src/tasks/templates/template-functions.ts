import { createHash } from 'node:crypto';
import { TemplateFunctionError, type TemplateFunction, type TemplateFunctions } from '@waybill/gotemplate';
import { compilePattern, FilterSyntaxError, FilterTooExpensiveError, StepBudget, errorText } from '@waybill/model';
import { parse as parseYaml, stringify as stringifyYaml } from 'yaml';

const refuse = (reason: string): never => {
  throw new TemplateFunctionError(reason);
};

const text = (value: unknown): string => (typeof value === 'string' ? value : refuse('a string is wanted'));
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : refuse('a list is wanted'));
const number = (value: unknown): number =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : refuse('a number is wanted');

/** Makes a function whose last argument is the value of the pipeline, so `b | f a` is `f a b`. */
const ofText =
  (change: (value: string) => unknown): TemplateFunction =>
  (value) =>
    change(text(value));

const ofTwoTexts =
  (change: (value: string, by: string) => unknown): TemplateFunction =>
  (by, value) =>
    change(text(value), text(by));

/** Makes a calculation: `a | add b` is a + b, `a | subtract b` is a - b. */
const calculation =
  (calculate: (a: number, b: number) => number): TemplateFunction =>
  (b, a) => {
    const [left, right] = [number(a), number(b)];
    const result = calculate(left, right);
    return Number.isInteger(left) && Number.isInteger(right) ? Math.trunc(result) : result;
  };

const divisor = (value: number): number => (value === 0 ? refuse('division by zero') : value);

const trimText = (value: string, characters: string, sides: 'both' | 'left' | 'right'): string => {
  let [from, to] = [0, value.length];
  if (sides !== 'right') while (from < to && characters.includes(value.charAt(from))) from++;
  if (sides !== 'left') while (to > from && characters.includes(value.charAt(to - 1))) to--;
  return value.slice(from, to);
};

const parsed = (parse: (text: string) => unknown, what: string) =>
  ofText((value) => {
    if (value.trim() === '') return {};
    try {
      return parse(value) ?? null;
    } catch (error) {
      return refuse(`${what}: ${errorText(error)}`);
    }
  });

const loopNumbers: TemplateFunction = (first, last) => {
  const [from, to] = last === undefined ? [0, number(first)] : [number(first), number(last)];
  return to - from > MAX_LOOP ? refuse(`a loop of more than ${MAX_LOOP} turns`) : numbersFrom(from, to);
};
const MAX_LOOP = 100_000;
const numbersFrom = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);

const hash = (algorithm: string): TemplateFunction =>
  ofText((value) => createHash(algorithm).update(value).digest('hex'));

const isIn = (haystack: unknown, needle: unknown): boolean =>
  typeof haystack === 'string' ? haystack.includes(text(needle)) : list(haystack).includes(needle);

/** The largest number of steps of one match, about 0.2 ms. A template may contain many loops and calls with matches. */
export const MAX_MATCH_STEPS = 20_000;
const matches = (pattern: string, value: string): boolean => {
  const budget = new StepBudget(MAX_MATCH_STEPS);
  try {
    return compilePattern(pattern).test(value, (steps) => budget.spend(steps));
  } catch (error) {
    if (error instanceof FilterSyntaxError || error instanceof FilterTooExpensiveError) return refuse(error.message);
    throw error;
  }
};

/**
 * The functions of templates besides Go's own. None has access outside of the template. The time of the one with a
 * pattern is at most text × pattern, so that the author of a job cannot block the agent with it.
 */
export const TEMPLATE_FUNCTIONS: TemplateFunctions = {
  toLower: ofText((value) => value.toLowerCase()),
  toUpper: ofText((value) => value.toUpperCase()),
  toTitle: ofText((value) => value.replaceAll(/(^|\s)\S/g, (first) => first.toUpperCase())),
  trimSpace: ofText((value) => value.trim()),
  trim: ofTwoTexts((value, characters) => trimText(value, characters, 'both')),
  trimPrefix: ofTwoTexts((value, prefix) => (value.startsWith(prefix) ? value.slice(prefix.length) : value)),
  trimSuffix: ofTwoTexts((value, suffix) =>
    suffix !== '' && value.endsWith(suffix) ? value.slice(0, -suffix.length) : value,
  ),
  split: ofTwoTexts((value, by) => (value === '' ? [] : value.split(by))),
  join: (by, values) => list(values).map(text).join(text(by)),
  replaceAll: (from, to, value) => text(value).replaceAll(text(from), () => text(to)),
  indent: (spaces, value) => {
    const width = number(spaces);
    if (width < 0 || width > 1_000) refuse('an indent is from 0 to 1000');
    return text(value).replaceAll(/^/gm, ' '.repeat(width));
  },
  contains: (needle, haystack) => isIn(haystack, needle),
  in: isIn,
  regexMatch: ofTwoTexts((value, pattern) => matches(pattern, value)),
  base64Encode: ofText((value) => Buffer.from(value).toString('base64')),
  base64Decode: ofText((value) => Buffer.from(value, 'base64').toString()),
  base64URLEncode: ofText((value) => Buffer.from(value).toString('base64url')),
  base64URLDecode: ofText((value) => Buffer.from(value, 'base64url').toString()),
  md5sum: hash('md5'),
  sha256Hex: hash('sha256'),
  parseInt: ofText((value) =>
    /^[+-]?\d+$/.test(value) ? Number(value) : value === '' ? 0 : refuse(`no integer: "${value}"`),
  ),
  parseFloat: ofText((value) => (Number.isNaN(Number(value)) ? refuse(`no number: "${value}"`) : Number(value))),
  parseBool: ofText((value) =>
    /^(1|t|true)$/i.test(value) ? true : /^(0|f|false|)$/i.test(value) ? false : refuse(`no truth value: "${value}"`),
  ),
  parseJSON: parsed((value) => JSON.parse(value) as unknown, 'parseJSON'),
  parseYAML: parsed((value) => parseYaml(value, { maxAliasCount: 100 }) as unknown, 'parseYAML'),
  toJSON: (value) => JSON.stringify(value ?? null),
  toJSONPretty: (value) => JSON.stringify(value ?? null, null, 2),
  toYAML: (value) => stringifyYaml(value ?? null).trimEnd(),
  add: calculation((a, b) => a + b),
  subtract: calculation((a, b) => a - b),
  multiply: calculation((a, b) => a * b),
  divide: calculation((a, b) => a / divisor(b)),
  modulo: calculation((a, b) => a % divisor(b)),
  minimum: calculation(Math.min),
  maximum: calculation(Math.max),
  loop: loopNumbers,
};
