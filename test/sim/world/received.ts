/**
 * What a reader gets of what a writer sent as JSON, without making text of it: a value of its own, without what JSON
 * leaves out. What is frozen may be shared by both, for nobody can change it. Anything but plain objects, lists and
 * scalars goes by way of its text. O(what is not frozen).
 */
export function received<T>(value: T): T {
  return (value === undefined ? null : copyOf(value)) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== 'object') return isScalar(value) ? value : byText(value);
  if (value === null) return value;
  if (Array.isArray(value))
    return Object.isFrozen(value) ? value : value.map((one) => (one === undefined ? null : copyOf(one)));
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return byText(value);
  return Object.isFrozen(value) ? value : copyOfMembers(value as Record<string, unknown>);
}

function copyOfMembers(value: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member !== undefined && typeof member !== 'function') copy[name] = copyOf(member);
  }
  return copy;
}

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

const byText = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? 'null') as unknown;
