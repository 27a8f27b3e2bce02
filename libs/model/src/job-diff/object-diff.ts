import { byNameAndType, diffTypeOf, type ObjectDiff } from './difference.js';
import { addFields, diffFields, diffValues, type Fields, textOf } from './field-diff.js';
import { FREEFORM, IN_PLACE, type ListForm, LISTS, skippedIn } from './member-forms.js';

export type Members = Readonly<Record<string, unknown>>;

/** The differences between two objects, member by member. */
export type MemberDiffs = Pick<ObjectDiff, 'Fields' | 'Objects'>;

interface DiffOptions {
  /** Members that are not compared. */
  readonly skip: ReadonlySet<string>;
  readonly withUnchanged: boolean;
}

/**
 * Compares two objects. Plain values are fields. Objects, lists and maps are objects of their own. The members of the
 * objects drive the comparison, so it includes a member that is added to the model later; `member-forms.ts` has the
 * rules that a value alone does not show. The result is sorted by name, then type (API-146). Cost: O(size of both),
 * twice for lists.
 */
export function diffMembers(before: Members | null, after: Members | null, options: DiffOptions): MemberDiffs {
  const [oldFields, newFields]: [Fields, Fields] = [new Map(), new Map()];
  const Objects: ObjectDiff[] = [];
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  for (const name of names) {
    if (options.skip.has(name)) continue;
    const [old, next] = [before?.[name] ?? null, after?.[name] ?? null];
    if (isField(name, old) && isField(name, next)) {
      addFields(oldFields, name, old);
      addFields(newFields, name, next);
    } else for (const item of diffMember(name, old, next)) Objects.push(item);
  }
  return { Fields: diffFields(oldFields, newFields, options.withUnchanged), Objects: Objects.toSorted(byNameAndType) };
}

const isField = (name: string, value: unknown): boolean =>
  typeof value !== 'object' || value === null || IN_PLACE.has(name);

function diffMember(name: string, old: unknown, next: unknown): ObjectDiff[] {
  const list = LISTS[name];
  if (list) return diffList(list, entriesOf(old), entriesOf(next));
  if (Array.isArray(old) || Array.isArray(next)) return diffValueList(name, valuesOf(old), valuesOf(next));
  const [before, after] = [membersOf(old), membersOf(next)];
  return FREEFORM.has(name) ? diffFreeform(name, before, after) : diffObject(name, before, after);
}

/** Returns nothing if both objects are equal. Otherwise the unchanged fields are listed too. */
function diffObject(name: string, before: Members | null, after: Members | null): ObjectDiff[] {
  const skip = skippedIn(name);
  const { Fields, Objects } = diffMembers(before, after, { skip, withUnchanged: true });
  const changed = Objects.length > 0 || Fields.some(({ Type }) => Type !== 'None');
  const Type = diffTypeOf(before, after, changed);
  if (Type === 'None') return [];
  return [{ Type, Name: name, Fields: Type === 'Edited' ? Fields : Fields.filter((f) => f.Type !== 'None'), Objects }];
}

function diffFreeform(name: string, before: Members | null, after: Members | null): ObjectDiff[] {
  const Fields = diffFields(flat(before), flat(after), true);
  const Type = diffTypeOf(
    before,
    after,
    Fields.some((field) => field.Type !== 'None'),
  );
  return Type === 'None' ? [] : [{ Type, Name: name, Fields, Objects: [] }];
}

function flat(members: Members | null): Fields {
  const fields: Fields = new Map();
  for (const [name, value] of Object.entries(members ?? {})) addFields(fields, name, value);
  return fields;
}

function diffValueList(name: string, before: readonly unknown[], after: readonly unknown[]): ObjectDiff[] {
  const Fields = diffValues(name, before, after);
  const [came, went] = (['Added', 'Deleted'] as const).map((type) => Fields.some(({ Type }) => Type === type));
  if (!came && !went) return [];
  const Type = came && went ? 'Edited' : came ? 'Added' : 'Deleted';
  return [{ Type, Name: name, Fields, Objects: [] }];
}

/**
 * Pairs entries by identity, the n-th of one identity with the n-th. Without identity, only equal entries are paired.
 */
function diffList({ name, identity }: ListForm, before: readonly Members[], after: readonly Members[]): ObjectDiff[] {
  const keyOf = (entry: Members): string => (identity === undefined ? JSON.stringify(entry) : textOf(entry[identity]));
  const old = numbered(before, keyOf);
  const next = numbered(after, keyOf);
  const keys = new Set([...old.keys(), ...next.keys()]);
  return [...keys].flatMap((key) => diffObject(name, old.get(key) ?? null, next.get(key) ?? null));
}

function numbered(entries: readonly Members[], keyOf: (entry: Members) => string): Map<string, Members> {
  const seen = new Map<string, number>();
  const byKey = new Map<string, Members>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const n = seen.get(key) ?? 0;
    seen.set(key, n + 1);
    byKey.set(`${n} ${key}`, entry);
  }
  return byKey;
}

function entriesOf(value: unknown): Members[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).filter(isMembers);
}

const valuesOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const membersOf = (value: unknown): Members | null => (isMembers(value) ? value : null);

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
