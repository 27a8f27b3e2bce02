/** Longest name of one file in bytes, a limit of Linux file systems. */
export const MAX_FILE_NAME_BYTES = 255;
/**
 * Names in an allocation's directory that belong to the agent: the directory that all tasks share, and a disk that is
 * being moved here.
 */
const NAMES_OF_THE_AGENT: ReadonlySet<string> = new Set(['alloc', '.incoming']);

/**
 * Line breaks, terminal sequences, halves of characters, and marks that change the direction of the surrounding text.
 */
const CONTROL = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Whether a text contains characters that misrepresent it in a terminal, a log or a page. */
export const hasControlCharacters = (text: string): boolean => CONTROL.test(text);

/**
 * Whether every object has a member of this name (`constructor`, `toString`, `__proto__` …). Maps by names of groups
 * and tasks are plain objects everywhere, so such a name would find a member that was never set.
 */
export const isReservedName = (name: string): boolean => name in {};

/** Whether a name, as one segment of a path, leads elsewhere than one level down. */
export const isRelativeSegment = (name: string): boolean => name === '' || name === '.' || name === '..';

/**
 * Whether a name, which may contain slashes, is unsafe in a path (VL-307): one of its segments leads elsewhere than
 * down.
 */
export const isUnsafePath = (name: string): boolean =>
  hasControlCharacters(name) || name.split('/').some(isRelativeSegment);

/**
 * Returns why a name cannot be a file name, or undefined if it can. The text continues a sentence that begins with the
 * kind of name. Registration and agents, which trust no server, share this rule.
 */
export function fileNameProblem(name: string): string | undefined {
  if (isRelativeSegment(name)) return `cannot be "${name}"`;
  if (name.includes('/')) return 'cannot include slashes';
  if (name.includes('\0')) return 'cannot include null characters';
  if (hasControlCharacters(name)) return 'cannot include control characters';
  const bytes = Buffer.byteLength(name);
  return bytes > MAX_FILE_NAME_BYTES
    ? `cannot be longer than ${MAX_FILE_NAME_BYTES} bytes, currently ${bytes}`
    : undefined;
}

/** Returns the errors of a job's ID, including the ID of a dispatched job (API-330). */
export function jobIdErrors(id: string): string[] {
  const errors: string[] = [];
  if (id === '') errors.push('Missing job ID');
  if (id.includes(' ')) errors.push('Job ID contains a space');
  if (id.includes('\0')) errors.push('Job ID contains a null character');
  else if (hasControlCharacters(id)) errors.push('Job ID contains a control character');
  // Clients and proxies remove these segments from a URL, so a request for such a job would reach another one.
  if (id.split('/').some((part) => part === '.' || part === '..'))
    errors.push('Job ID cannot have "." or ".." as a part between slashes');
  return errors;
}

/**
 * Returns the errors of a task's name, which becomes the name of a directory and part of the names of its logs
 * (API-340). The texts up to the null characters are the contract's.
 */
export function taskNameErrors(name: string): string[] {
  const errors: string[] = [];
  if (name === '') return ['Missing task name'];
  if (NAMES_OF_THE_AGENT.has(name) || isRelativeSegment(name) || isReservedName(name))
    errors.push(`Task cannot be named "${name}"`);
  if (/[/\\]/.test(name)) errors.push('Task name cannot include slashes');
  if (name.includes('\0')) errors.push('Task name cannot include null characters');
  else if (hasControlCharacters(name)) errors.push('Task name cannot include control characters');
  return errors;
}

/** Normalises names that look alike, to a reader or to a file system that ignores case or composition of characters. */
const looks = (name: string): string => name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');

/** Returns the first two different names that look alike, or undefined if there are none. Cost: O(names). */
export function lookalikes(names: readonly string[]): readonly [name: string, earlier: string] | undefined {
  const first = new Map<string, string>();
  for (const name of names) {
    const look = looks(name);
    const earlier = first.get(look);
    if (earlier !== undefined && earlier !== name) return [name, earlier];
    first.set(look, name);
  }
  return undefined;
}

/** Returns an error if two tasks would share a directory on a file system that does not distinguish their names. */
export function lookalikeErrors(names: readonly string[]): string[] {
  const found = lookalikes(names);
  if (!found) return [];
  return [
    `Task name '${found[0]}' cannot be told from '${found[1]}': they differ only in case or in how they are encoded`,
  ];
}

/** Returns the errors of a path in a job. Where the path leads is checked elsewhere. */
export const pathErrors = (path: string, what: string): string[] =>
  path.includes('\0') ? [`${what} cannot include null characters`] : [];

/**
 * Returns the errors of names of environment variables. An invalid name would set another variable or prevent the start
 * of the task.
 */
export function variableErrors(env: Readonly<Record<string, string>> | null): string[] {
  return Object.entries(env ?? {}).flatMap(([name, value]) => {
    if (name === '' || name.includes('=') || hasControlCharacters(name))
      return [`environment variable ${JSON.stringify(name)} is no name: "=" and control characters are not allowed`];
    return value.includes('\0') ? [`environment variable "${name}" includes a null character`] : [];
  });
}

/** Returns the errors of keys of `meta`, which become parts of names of environment variables. */
export function metaErrors(meta: Readonly<Record<string, string>> | null): string[] {
  return Object.entries(meta ?? {}).flatMap(([key, value]) => {
    if (hasControlCharacters(key)) return [`meta key ${JSON.stringify(key)} cannot include control characters`];
    return value.includes('\0') ? [`meta value of "${key}" cannot include null characters`] : [];
  });
}
