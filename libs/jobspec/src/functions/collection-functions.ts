import { elementOf } from '../evaluation/access.js';
import { AccessError } from '../evaluation/access.js';
import { Decimal } from '../evaluation/decimal.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { setOf, toText } from '../evaluation/type.js';
import { compareText, equalValues, list, Mapping, Sequence, tuple, typeName, type Value } from '../evaluation/value.js';
import { MAX_RANGE_ELEMENTS } from '../limits.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { any, entriesOf, from, itemsOf, num, nullable, numberOf, of, strings, textOf, wholeOf } from './parameters.js';

export const COLLECTION_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  chunklist: of([any('list'), num('size')], ([items, size]) => chunks(itemsOf(items), wholeOf(size))),
  coalesce: of([], (values) => firstThat(values, (value) => value !== null, 'no non-null arguments'), nullable()),
  coalescelist: of([], (lists) => firstThat(lists, (one) => itemsOf(one).length > 0, 'no non-empty list'), any('vals')),
  compact: of([{ ...any('list') }], ([items]) =>
    list(
      itemsOf(items)
        .filter((item) => item !== null && item !== '')
        .map((item) => toText(item)),
    ),
  ),
  concat: of([], (lists, budget) => counted(tuple(lists.flatMap((one) => itemsOf(one))), budget), any('seqs')),
  contains: of([any('list'), any()], ([items, wanted = null]) =>
    itemsOf(items).some((item) => equalValues(item, wanted)),
  ),
  distinct: of([any('list')], ([items], budget) => list(distinct(itemsOf(items), budget))),
  element: of([any('list'), num('index')], ([items, index]) => wrapped(itemsOf(items), wholeOf(index))),
  flatten: of([any('list')], ([items]) => tuple(flat(itemsOf(items)))),
  index: of([any('collection'), any('key')], ([collection = null, key = null]) => indexed(collection, key)),
  keys: of([any('inputMap')], ([mapping]) => list([...entriesOf(mapping).keys()])),
  values: of([any('mapping')], ([mapping]) => tuple([...entriesOf(mapping).values()])),
  length: of([any('collection')], ([collection = null]) => Decimal.of(lengthOf(collection))),
  lookup: of(
    [any('inputMap'), any('key'), nullable('default')],
    ([mapping, key, fallback = null]) => entriesOf(mapping).get(textOf(key)) ?? fallback,
  ),
  merge: of([], (mappings) => merged(mappings), nullable('maps')),
  range: from(1, [num('start'), num('end'), num('step')], (args) => range(args.map(numberOf))),
  setintersection: of(
    [any('first')],
    ([one, ...others], budget) =>
      setOf(distinct(itemsOf(one), budget).filter((item) => others.every((other) => includes(other, item)))),
    any('others'),
  ),
  setunion: of(
    [],
    (all, budget) =>
      setOf(
        distinct(
          all.flatMap((one) => itemsOf(one)),
          budget,
        ),
      ),
    any('sets'),
  ),
  setproduct: of([], (all, budget) => product(all.map(itemsOf), budget), any('sets')),
  slice: of([any('list'), num('start'), num('end')], ([items, start, end]) =>
    slice(itemsOf(items), wholeOf(start), wholeOf(end)),
  ),
  sort: of([strings()], ([items]) => list(itemsOf(items).map(textOf).toSorted(compareText))),
  zipmap: of([strings('keys'), any('values')], ([keys, values]) => zipped(itemsOf(keys).map(textOf), itemsOf(values))),
};

function counted(sequence: Sequence, budget: StepBudget): Sequence {
  budget.spend(sequence.items.length);
  return sequence;
}

function firstThat(values: readonly Value[], matches: (value: Value) => boolean, otherwise: string): Value {
  const at = values.findIndex(matches);
  if (at === -1) throw new FunctionError(otherwise);
  return values[at] ?? null;
}

function chunks(items: readonly Value[], size: number): Value {
  if (size < 0) throw new FunctionError('the size argument must be positive');
  const length = size === 0 ? Math.max(items.length, 1) : size;
  const starts = Array.from({ length: Math.ceil(items.length / length) }, (_, at) => at * length);
  return list(starts.map((start) => list(items.slice(start, start + length))));
}

/** Removes duplicates. Every item is compared with all kept ones, which the budget limits. */
function distinct(items: readonly Value[], budget: StepBudget): Value[] {
  const kept: Value[] = [];
  for (const item of items) {
    budget.spend(kept.length);
    if (!kept.some((other) => equalValues(other, item))) kept.push(item);
  }
  return kept;
}

function wrapped(items: readonly Value[], index: number): Value {
  if (items.length === 0) throw new FunctionError('cannot use element function with an empty list');
  return items[((index % items.length) + items.length) % items.length] ?? null;
}

function flat(items: readonly Value[]): Value[] {
  return items.flatMap((item) => (item instanceof Sequence ? flat(item.items) : [item]));
}

function indexed(collection: Value, key: Value): Value {
  try {
    return elementOf(collection, key);
  } catch (error) {
    if (error instanceof AccessError) throw new FunctionError(error.detail.replace(/\.$/u, ''));
    throw error;
  }
}

/** Returns the length of a collection other than a string or an object. */
function lengthOf(value: Value): number {
  if (value instanceof Sequence) return value.items.length;
  if (value instanceof Mapping && value.kind === 'map') return value.entries.size;
  throw new FunctionError(`collection must be a list, a map or a tuple, not ${typeName(value)}`);
}

function merged(mappings: readonly Value[]): Mapping {
  const given = mappings.filter((one) => one !== null);
  const kind = given.every((one) => one instanceof Mapping && one.kind === 'map') ? 'map' : 'object';
  return new Mapping(
    kind,
    given.flatMap((one) => [...entriesOf(one)]),
  );
}

function range([first = Decimal.ZERO, second, third]: readonly Decimal[]): Value {
  const [start, end] = second === undefined ? [Decimal.ZERO, first] : [first, second];
  const down = end.compare(start) < 0;
  const step = third ?? Decimal.of(down ? -1 : 1);
  if (step.sign === 0) throw new FunctionError('step must not be zero');
  if (start.compare(end) !== 0 && step.sign < 0 !== down)
    throw new FunctionError(`the step must be ${down ? 'negative' : 'positive'} to come from start to end`);
  const items: Value[] = [];
  for (let at = start; down ? at.compare(end) > 0 : at.compare(end) < 0; at = at.plus(step)) {
    if (items.length === MAX_RANGE_ELEMENTS)
      throw new FunctionError(`more than ${MAX_RANGE_ELEMENTS} values were generated`);
    items.push(at);
  }
  return list(items);
}

const includes = (items: Value, wanted: Value): boolean => itemsOf(items).some((item) => equalValues(item, wanted));

function product(sets: readonly (readonly Value[])[], budget: StepBudget): Value {
  if (sets.length < 2) throw new FunctionError('at least two arguments are required');
  let rows: Value[][] = [[]];
  for (const set of sets) {
    budget.spend(rows.length * set.length);
    rows = rows.flatMap((row) => set.map((item) => [...row, item]));
  }
  return list(rows.map((row) => tuple(row)));
}

function slice(items: readonly Value[], start: number, end: number): Value {
  if (start < 0 || end > items.length || start > end)
    throw new FunctionError(
      `the indices must be between 0 and the length of ${items.length}, the first not above the second`,
    );
  return tuple(items.slice(start, end));
}

function zipped(keys: readonly string[], values: readonly Value[]): Value {
  if (keys.length !== values.length)
    throw new FunctionError(`number of keys (${keys.length}) does not match number of values (${values.length})`);
  return new Mapping(
    'object',
    keys.map((key, at) => [key, values[at] ?? null]),
  );
}
