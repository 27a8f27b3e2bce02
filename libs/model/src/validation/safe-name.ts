/** Longest name of one file, in bytes: a limit of the file systems of Linux. */
export const MAX_FILE_NAME_BYTES = 255;
/** Names in an allocation's directory that belong to the agent: what all tasks share, and a disk that is being moved here. */
const NAMES_OF_THE_AGENT: ReadonlySet<string> = new Set(['alloc', '.incoming']);

/** Line breaks, terminal sequences, halves of characters, and marks that turn the direction of the text around them. */
const CONTROL = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Whether a text holds characters that are seen as something else than they are, in a terminal, a log or a page. */
export const hasControlCharacters = (text: string): boolean => CONTROL.test(text);

/**
 * Names that every object has without being given them (`constructor`, `toString`, `__proto__` …). Maps by the names of
 * groups and tasks are plain objects on the wire and everywhere; under these names they would seem to hold what they do not.
 */
export const isReservedName = (name: string): boolean => name in {};

/** Whether a name, as one segment of a path, leads elsewhere than one level down. */
export const isRelativeSegment = (name: string): boolean => name === '' || name === '.' || name === '..';

/** Whether a name that may have slashes can be no part of a path (VL-307): a part between them leads elsewhere than down. */
export const isUnsafePath = (name: string): boolean =>
  hasControlCharacters(name) || name.split('/').some(isRelativeSegment);

/**
 * Why a name cannot be that of one file, as the end of a sentence that begins with what it is the name of; undefined: it
 * can. The one rule for registration and for agents, which trust no server.
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

/** Why a job cannot have its ID, that of a dispatched one included (API-330); empty: it can. */
export function jobIdErrors(id: string): string[] {
  const errors: string[] = [];
  if (id === '') errors.push('Missing job ID');
  if (id.includes(' ')) errors.push('Job ID contains a space');
  if (id.includes('\0')) errors.push('Job ID contains a null character');
  else if (hasControlCharacters(id)) errors.push('Job ID contains a control character');
  // Whoever asks for such a job by its URL asks for another one: clients and proxies take these segments out of it.
  if (id.split('/').some((part) => part === '.' || part === '..'))
    errors.push('Job ID cannot have "." or ".." as a part between slashes');
  return errors;
}

/**
 * Why a task cannot have its name, which becomes that of a directory and a part of its logs' (API-340); empty: it can. The
 * texts up to the null characters are the contract's.
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

/**
 * The form in which names are one name: to a file system that does not tell upper from lower case or composed from
 * decomposed characters, and to a reader.
 */
const looks = (name: string): string => name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');

/** The first two different names that look alike; undefined: all can be told apart. Cost: O(names). */
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

/** Names of tasks that would share a directory where a file system takes them for one; empty: none. */
export function lookalikeErrors(names: readonly string[]): string[] {
  const found = lookalikes(names);
  if (!found) return [];
  return [
    `Task name '${found[0]}' cannot be told from '${found[1]}': they differ only in case or in how they are encoded`,
  ];
}

/** A path that a job names; where it leads is another question. */
export const pathErrors = (path: string, what: string): string[] =>
  path.includes('\0') ? [`${what} cannot include null characters`] : [];

/** Names of environment variables. What is no name would be another variable, or end the start of the task. */
export function variableErrors(env: Readonly<Record<string, string>> | null): string[] {
  return Object.entries(env ?? {}).flatMap(([name, value]) => {
    if (name === '' || name.includes('=') || hasControlCharacters(name))
      return [`environment variable ${JSON.stringify(name)} is no name: "=" and control characters are not allowed`];
    return value.includes('\0') ? [`environment variable "${name}" includes a null character`] : [];
  });
}

/** Keys of `meta`, which become parts of the names of environment variables. */
export function metaErrors(meta: Readonly<Record<string, string>> | null): string[] {
  return Object.entries(meta ?? {}).flatMap(([key, value]) => {
    if (hasControlCharacters(key)) return [`meta key ${JSON.stringify(key)} cannot include control characters`];
    return value.includes('\0') ? [`meta value of "${key}" cannot include null characters`] : [];
  });
}
