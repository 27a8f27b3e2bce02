import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { JobspecError, parseVariable } from '@waybill/jobspec';
import { causeOf, CommandFailure } from '../failure.js';
import { type ExactJson, formatExact, membersOf, parseExact } from '../terminal/exact-json.js';

/** Sources of items and specifications. */
export interface Sources {
  readonly file: (path: string) => Promise<string>;
  readonly stdin: () => Promise<string>;
}

export const SOURCES: Sources = { file: (path) => readFile(path, 'utf8'), stdin: () => textOf(process.stdin) };

/** A variable to write. */
export interface WantedVariable {
  readonly path: string;
  /** Undefined for the namespace of the flags. */
  readonly namespace: string | undefined;
  readonly items: Readonly<Record<string, string>>;
  /** Index of the last write, in digits. `0` if the specification contains none or is of another variable. */
  readonly modifyIndex: string;
}

export interface SpecificationOptions {
  /** Language of the flag. Undefined for that of the file's extension, or else json. */
  readonly language: string | undefined;
  /** Namespace of the flag. Undefined for that of the specification. */
  readonly namespace: string | undefined;
  /** Called for keys that templates cannot reference easily. */
  readonly onOddKey: (key: string) => void;
}

/**
 * Evaluates the arguments of `var put`: `<path>|@<file>|- [@<file>|-] [<key>=<value>…]` (CL-853). Arguments precede the
 * specification. The index of the specification counts only for its own variable.
 * @throws CommandFailure
 */
export async function wantedVariable(
  args: readonly string[],
  { language, namespace, onOddKey }: SpecificationOptions,
  sources: Sources = SOURCES,
): Promise<WantedVariable> {
  const [first = '', ...others] = args;
  const stdin = onceOnly(sources.stdin);
  const pathGiven = isReference(first) ? undefined : first;
  const reference = pathGiven === undefined ? first : isReference(others[0]) ? others[0] : undefined;
  const pairs = pathGiven !== undefined && reference !== undefined ? others.slice(1) : others;
  const spec = reference === undefined ? {} : await specification(reference, language, { ...sources, stdin });
  const items = new Map(Object.entries(membersOf(spec['Items'])).map(([key, value]) => [key, textValue(key, value)]));
  for (const pair of pairs) await applyPair(items, pair, { ...sources, stdin });
  for (const key of items.keys()) if (!/^\w+$/.test(key)) onOddKey(key);
  const path = pathGiven ?? textOfMember(spec, 'Path');
  if (path === '') throw new CommandFailure('Variable path is required: as an argument or in the specification');
  if (items.size === 0) throw new CommandFailure('Variable items are required: as arguments or in the specification');
  const specNamespace = textOfMember(spec, 'Namespace');
  const isSame =
    path === textOfMember(spec, 'Path') &&
    (namespace === undefined || specNamespace === '' || namespace === specNamespace);
  return {
    path,
    namespace: namespace ?? (specNamespace || undefined),
    items: Object.fromEntries(items),
    modifyIndex: isSame ? digitsOf(spec['ModifyIndex']) : '0',
  };
}

const isReference = (arg: string | undefined): boolean => arg === '-' || arg?.startsWith('@') === true;

/** Limits reading stdin to one argument. */
function onceOnly(read: () => Promise<string>): () => Promise<string> {
  let isRead = false;
  return () => {
    if (isRead) throw new CommandFailure('stdin can be read only once: "-" is given twice');
    isRead = true;
    return read();
  };
}

async function specification(
  reference: string,
  language: string | undefined,
  { file, stdin }: Sources,
): Promise<{ [member: string]: ExactJson }> {
  const name = reference === '-' ? 'stdin' : reference.slice(1);
  const text = await (reference === '-' ? stdin() : file(name)).catch((error: unknown) => {
    throw new CommandFailure(`Error reading the variable specification: ${causeOf(error)}`);
  });
  const extension = /\.(hcl|json)$/.exec(name)?.[1];
  try {
    return membersOf(
      (language ?? extension ?? 'json') === 'hcl' ? (parseVariable({ name, text }) as ExactJson) : parseExact(text),
    );
  } catch (error) {
    throw new CommandFailure(
      `Error parsing the variable specification: ${error instanceof JobspecError ? error.illustrated : causeOf(error)}`,
    );
  }
}

/**
 * Sets `<key>=<value>`. The value may be `@<file>`, `-` for stdin, or start with `\@` for a literal at sign. An empty
 * value removes the item.
 */
async function applyPair(items: Map<string, string>, pair: string, { file, stdin }: Sources): Promise<void> {
  const at = pair.indexOf('=');
  if (at < 1) throw new CommandFailure(`Invalid key/value pair ${JSON.stringify(pair)}: format must be key=value`);
  const [key, given] = [pair.slice(0, at), pair.slice(at + 1)];
  const value = await valueOf(given, { file, stdin }).catch((error: unknown) => {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`Error reading the value of "${key}": ${causeOf(error)}`);
  });
  if (value === '') items.delete(key);
  else items.set(key, value);
}

async function valueOf(given: string, { file, stdin }: Sources): Promise<string> {
  if (given === '-') return stdin();
  if (given.startsWith('@')) return file(given.slice(1));
  return given.startsWith('\\@') ? given.slice(1) : given;
}

function textValue(key: string, value: ExactJson): string {
  if (typeof value !== 'string')
    throw new CommandFailure(`Error parsing the variable specification: item "${key}" is no text`);
  return value;
}

function textOfMember(spec: { readonly [member: string]: ExactJson }, name: string): string {
  const value = spec[name];
  return typeof value === 'string' ? value : '';
}

/** Returns a number as it was written. */
function digitsOf(value: ExactJson | undefined): string {
  const text = value === undefined ? '' : formatExact(value, 0);
  return /^\d+$/.test(text) ? text : '0';
}
