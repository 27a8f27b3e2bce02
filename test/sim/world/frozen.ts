/**
 * What several readers share because nobody may change it: everything in it throws on a write from now on, so that a
 * class which changes what it was given fails in a run instead of in the copy of another. What is frozen already is not
 * walked again. O(what is new).
 */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) frozen(member);
  return value;
}
