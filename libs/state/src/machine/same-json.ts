/**
 * Whether two values are the same JSON, regardless of the order of members: the same answer as comparing their
 * canonical texts, without computing them. An undefined member counts as missing. O(members), O(1) for identical
 * objects.
 * @param proven pairs of objects that were found to be equal; rows of many allocations share their job
 */
export function isSameJson(a: unknown, b: unknown, proven?: WeakMap<object, object>): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return isNothing(a) && isNothing(b);
  if (proven?.get(a) === b) return true;
  const same =
    Array.isArray(a) || Array.isArray(b) ? isSameList(a, b, proven) : isSameObject(a as Members, b as Members, proven);
  if (same) proven?.set(a, b);
  return same;
}

type Members = Readonly<Record<string, unknown>>;

/** Values that JSON writes as null in a list. */
const isNothing = (value: unknown): boolean => value === undefined || value === null;

function isSameList(a: unknown, b: unknown, proven: WeakMap<object, object> | undefined): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((one, at) => isSameJson(one, b[at], proven));
}

function isSameObject(a: Members, b: Members, proven: WeakMap<object, object> | undefined): boolean {
  let members = 0;
  for (const name in a) {
    const member = a[name];
    if (member === undefined) continue;
    members++;
    const other = b[name];
    if (other === undefined || !isSameJson(member, other, proven)) return false;
  }
  for (const name in b) if (b[name] !== undefined) members--;
  return members === 0;
}
