import type { ProcessIO } from '../process-io.js';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { ApiClient } from '../server/api-client.js';
import { MOST_WORDS, firstWords, isCommand, loadCommand, subcommandsOf } from '../catalogue.js';
import { ALIASES } from '../command-words.js';
import { flagsOf, parseCommandLine } from '../command-line.js';
import type { CommandSpec } from '../command-spec.js';
import type { Flag } from '../flags/flag.js';
import { ParsedFlags } from '../flags/parsed-flags.js';
import { PARAMETERIZED, PERIODIC } from '../jobs/resolve-job.js';
import { search } from '../server/search.js';

/** Longest time in milliseconds that a user waits for completions (CL-175). */
const LIMIT_MS = 2_000;

/** The parsed words before and at the cursor. */
interface Question {
  /** Canonical words of the command. Empty while they are being typed. */
  readonly words: string;
  readonly spec: CommandSpec;
  /** The words between the command and the cursor. */
  readonly given: readonly string[];
  /** The word at the cursor. */
  readonly partial: string;
}

/**
 * Returns the candidates for the word at the cursor (CL-175, CL-176): words of commands, flags, values of flags, files,
 * and IDs from the server. Any failure gives none.
 */
export async function complete(line: string, point: number, io: ProcessIO): Promise<string[]> {
  const [, ...typed] = line.slice(0, point).split(/\s+/);
  const partial = typed.pop() ?? '';
  try {
    const found = commandIn(typed);
    if (!found) return beginning(partial, typed.length === 0 ? firstWords() : subcommandsOf(typed.join(' ')));
    const spec = await loadCommand(found.words);
    if (!spec) return [];
    const more = subcommandsOf(found.words);
    const candidates = await candidatesFor({ ...found, spec, partial }, io);
    return beginning(partial, [...(found.given.length === 0 ? more : []), ...candidates]);
  } catch {
    return [];
  }
}

const beginning = (partial: string, candidates: readonly string[]): string[] =>
  [...new Set(candidates)].filter((one) => one.startsWith(partial)).toSorted();

/** Returns the longest command that the words name, and the words after it (CL-102). */
function commandIn(typed: readonly string[]): { words: string; given: readonly string[] } | undefined {
  for (let n = Math.min(MOST_WORDS, typed.length); n > 0; n--) {
    const tried = typed.slice(0, n).join(' ');
    const words = ALIASES.get(tried)?.words ?? tried;
    if (isCommand(words)) return { words, given: typed.slice(n) };
  }
  return undefined;
}

async function candidatesFor(question: Question, io: ProcessIO): Promise<readonly string[]> {
  const { spec, given, partial, words } = question;
  const flags = flagsOf(spec);
  const before = /^--?([^=]+)$/.exec(given.at(-1) ?? '')?.[1];
  const pending = flags.find(({ name, kind }) => name === before && kind !== 'switch');
  if (pending) return valuesOf(pending, question, io);
  if (partial.startsWith('-')) return flags.map(({ name }) => `-${name}`);
  if (words === 'completion') return ['bash', 'zsh', 'fish'];
  if (/^job (run|plan|validate)$/.test(words)) return files(partial, /\.(nomad|hcl|json)$/);
  return idsFor(words, partial, await client(question, io));
}

/** Returns candidates for the value of a flag at the cursor. */
async function valuesOf(flag: Flag, question: Question, io: ProcessIO): Promise<readonly string[]> {
  if (flag.name === 'var-file') return files(question.partial, /\.var$/);
  if (flag.name === 'namespace') return matches(await client(question, io), question.partial, 'namespaces');
  return /^[\w-]+(\|[\w-]+)+$/.test(flag.value ?? '') ? (flag.value ?? '').split('|') : [];
}

/** Returns the directories, and the files with matching names, in the typed directory. */
function files(partial: string, name: RegExp): string[] {
  const directory = partial.endsWith('/') ? partial : path.dirname(partial);
  const shown = partial.includes('/') ? directory.replace(/\/?$/, '/') : '';
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || name.test(entry.name))
    .map((entry) => `${shown}${entry.name}${entry.isDirectory() ? '/' : ''}`);
}

/** Contexts of the search, by the first words of a command (CL-176). */
const CONTEXTS: readonly (readonly [RegExp, string])[] = [
  [/^alloc /, 'allocs'],
  [/^deployment /, 'deployment'],
  [/^(eval |trace$)/, 'evals'],
  [/^job /, 'jobs'],
  [/^namespace /, 'namespaces'],
  [/^node pool /, 'node_pools'],
  [/^node /, 'nodes'],
  [/^(status|ui)$/, 'all'],
];
/** Objects that cannot be deleted and are therefore no candidates. */
const NEVER_DELETED: Readonly<Record<string, readonly string[]>> = {
  'namespace delete': ['default'],
  'node pool delete': ['all', 'default'],
};

async function idsFor(words: string, partial: string, api: ApiClient): Promise<readonly string[]> {
  const kind = { 'job dispatch': PARAMETERIZED, 'job periodic force': PERIODIC }[words];
  if (kind) {
    const query = { prefix: partial, filter: kind.filter };
    const { value } = await api.get<readonly { readonly ID: string }[] | null>('/v1/jobs', query);
    return (value ?? []).map(({ ID }) => ID);
  }
  const context = CONTEXTS.find(([pattern]) => pattern.test(words))?.[1];
  if (context === undefined) return [];
  const never = NEVER_DELETED[words] ?? [];
  return (await matches(api, partial, context)).filter((id) => !never.includes(id));
}

async function matches(api: ApiClient, partial: string, context: string): Promise<string[]> {
  const { Matches } = await search(api, partial, context);
  return Object.values(Matches).flatMap((ids) => ids ?? []);
}

/** Returns a client for the server that the flags before the cursor, or the environment, select. */
async function client({ spec, words, given }: Question, io: ProcessIO): Promise<ApiClient> {
  const [{ ApiClient }, { connectionFrom }, { Command }] = await Promise.all([
    import('../server/api-client.js'),
    import('../server/connection.js'),
    import('commander'),
  ]);
  let flags = new ParsedFlags(flagsOf(spec), new Command());
  try {
    ({ flags } = parseCommandLine(spec, words, given));
  } catch {
    // With an incomplete command line, the environment may be enough.
  }
  return new ApiClient(connectionFrom(flags, io.env), '', AbortSignal.timeout(LIMIT_MS));
}
