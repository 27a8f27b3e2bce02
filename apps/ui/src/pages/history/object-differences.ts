/** MemberChange is a member whose value differs between two moments, as JSON; undefined if it was not there. */
export interface MemberChange {
  /** The path of the member: `TaskGroups › 0 › Count`. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Returns the members that differ, in the order of the newer object. Lists are compared place by place. */
export function differences(before: unknown, after: unknown, path: readonly string[] = []): readonly MemberChange[] {
  if (Object.is(before, after)) return [];
  if (isObject(before) && isObject(after) && Array.isArray(before) === Array.isArray(after)) {
    const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
    return names.flatMap((name) => differences(before[name], after[name], [...path, name]));
  }
  return [{ path: path.join(' › '), before: text(before), after: text(after) }];
}

const text = (value: unknown): string | undefined =>
  value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value);
