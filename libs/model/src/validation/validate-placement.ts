import { errorText } from '../refusal.js';
import { compilePattern } from '../filter/regular-expression.js';
import { nestedList } from './message-list.js';
import type { Affinity, Constraint, Spread } from '../jobs/placement-rules.js';

const ATTRIBUTE_NAMES = new Set([
  '${node.unique.id}',
  '${node.datacenter}',
  '${node.unique.name}',
  '${node.class}',
  '${node.pool}',
]);
const ATTRIBUTE_PREFIXES = ['${attr.', '${device.', '${meta.'];

const COMPARISONS = new Set(['=', '==', 'is', '!=', 'not', '<', '<=', '>', '>=']);
const SET_OPERATORS = new Set(['set_contains', 'set_contains_all', 'set_contains_any']);

// No two adjacent parts match the same character, so a client's text is tested in linear time.
const VERSION = /^v?\d+(\.\d+)*([A-Za-z~-][0-9A-Za-z~-]*(\.[0-9A-Za-z~-]+)*)?(\+[0-9A-Za-z~-]+(\.[0-9A-Za-z~-]+)*)?$/;
const VERSION_OPERATOR = /^\s*(?:(?:=|!=|>=|<=|~>|>|<)\s*)?/;
const SEMVER_OPERATOR = /^\s*(?:(?:=|!=|>=|<=|>|<)\s*)?/;

const MAX_SPREAD_PERCENT = 100;

/** Returns the errors of all constraints (API-333), each with its prefix. */
export function validateConstraints(constraints: readonly Constraint[] | null): string[] {
  return eachWithPrefix('Constraint', constraints, constraintErrors);
}

/** Errors of all affinities (API-334). */
export function validateAffinities(affinities: readonly Affinity[] | null): string[] {
  return eachWithPrefix('Affinity', affinities, affinityErrors);
}

/** Errors of all spreads (API-334). */
export function validateSpreads(spreads: readonly Spread[] | null): string[] {
  return eachWithPrefix('Spread', spreads, spreadErrors);
}

function eachWithPrefix<T>(kind: string, items: readonly T[] | null, errorsOf: (item: T) => string[]): string[] {
  return (items ?? []).flatMap((item, index) => {
    const errors = errorsOf(item);
    return errors.length === 0 ? [] : [`${kind} ${index + 1} validation failed: ${nestedList(errors)}`];
  });
}

/** Returns the errors of one constraint. */
export function constraintErrors({ LTarget, RTarget, Operand }: Constraint): string[] {
  if (Operand === '') return ['Missing constraint operand'];
  const errors: string[] = [];
  if (SET_OPERATORS.has(Operand)) {
    if (RTarget === '') errors.push('Set contains constraint requires an RTarget');
  } else if (COMPARISONS.has(Operand)) {
    if (RTarget === '') errors.push(`Operator "${Operand}" requires an RTarget`);
  } else if (Operand === 'is_set' || Operand === 'is_not_set') {
    if (RTarget !== '') errors.push(`Operator "${Operand}" does not support an RTarget`);
  } else if (Operand === 'distinct_property') {
    for (const item of distinctPropertyErrors(RTarget)) errors.push(item);
  } else if (Operand === 'regexp' || Operand === 'version' || Operand === 'semver') {
    for (const item of patternErrors('constraint', Operand, RTarget)) errors.push(item);
  } else if (Operand !== 'distinct_hosts') {
    errors.push(`Unknown constraint type "${Operand}"`);
  }
  if (Operand !== 'distinct_hosts') for (const item of attributeErrors(LTarget)) errors.push(item);
  return errors;
}

function affinityErrors({ LTarget, RTarget, Operand, Weight }: Affinity): string[] {
  const errors: string[] = [];
  if (Operand === '') {
    errors.push('Missing affinity operand');
  } else if (SET_OPERATORS.has(Operand)) {
    if (RTarget === '') errors.push('Set contains operators require an RTarget');
  } else if (COMPARISONS.has(Operand)) {
    if (RTarget === '') errors.push(`Operator "${Operand}" requires an RTarget`);
  } else if (Operand === 'regexp' || Operand === 'version' || Operand === 'semver') {
    for (const item of patternErrors('affinity', Operand, RTarget)) errors.push(item);
  } else {
    errors.push(`Unknown affinity operator "${Operand}"`);
  }
  if (LTarget === '') errors.push('No LTarget provided but is required');
  if (Weight === 0) errors.push('Affinity weight cannot be zero');
  if (Weight < -100 || Weight > 100) errors.push('Affinity weight must be within the range [-100,100]');
  return errors;
}

function spreadErrors(spread: Spread): string[] {
  const errors: string[] = [];
  if (spread.Attribute === '') errors.push('Missing spread attribute');
  if (spread.Weight <= 0 || spread.Weight > 100) {
    errors.push('Spread block must have a positive weight from 0 to 100');
  }
  const seen = new Set<string>();
  let sum = 0;
  for (const { Value, Percent } of spread.SpreadTarget ?? []) {
    if (seen.has(Value)) errors.push(`Spread target value "${Value}" already defined`);
    seen.add(Value);
    if (Percent > MAX_SPREAD_PERCENT) {
      errors.push(`Spread target percentage for value "${Value}" must be between 0 and 100`);
    }
    sum += Percent;
  }
  if (sum > MAX_SPREAD_PERCENT) {
    errors.push(`Sum of spread target percentages must not be greater than 100%; got ${sum}%`);
  }
  return errors;
}

function patternErrors(kind: 'constraint' | 'affinity', operand: string, text: string): string[] {
  if (operand === 'regexp') {
    const problem = regexpProblem(text);
    return problem === undefined ? [] : [`Regular expression failed to compile: ${problem}`];
  }
  const operator = operand === 'version' ? VERSION_OPERATOR : SEMVER_OPERATOR;
  const title = operand === 'version' ? 'Version' : 'Semver';
  const malformed = text.split(',').find((part) => !VERSION.test(part.replace(operator, '').trimEnd()));
  return malformed === undefined ? [] : [`${title} ${kind} is invalid: Malformed constraint: ${malformed}`];
}

function distinctPropertyErrors(count: string): string[] {
  if (count === '') return [];
  if (!/^\d+$/.test(count)) return [`Failed to convert RTarget "${count}" to uint64: invalid syntax`];
  return Number(count) < 1
    ? [`Distinct Property must have an allowed count of 1 or greater: ${Number(count)} < 1`]
    : [];
}

function attributeErrors(target: string): string[] {
  if (target === '') return ['no attribute provided but is required by operator'];
  if (!target.startsWith('$')) return [];
  if (!target.startsWith('${')) return [`attribute "${target}" is missing an opening brace`];
  if (!target.endsWith('}')) return [`attribute "${target}" is missing a closing brace`];
  const isKnown = ATTRIBUTE_NAMES.has(target) || ATTRIBUTE_PREFIXES.some((prefix) => target.startsWith(prefix));
  return isKnown ? [] : [`unsupported attribute "${target}"`];
}

function regexpProblem(text: string): string | undefined {
  try {
    compilePattern(text); // the engine that the scheduler will match with
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}
