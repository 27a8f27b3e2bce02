import type { CommandSpec, ServerCommand } from './command-spec.js';
import { ALIASES, SHORT_FORMS } from './command-words.js';
import { REFUSALS, type Refusal } from './refusals.js';
import { SYNOPSES } from './synopses.js';

/** A command in the general help and for the dispatcher. Its module is loaded only when it runs. */
export interface CatalogueEntry {
  /** Words of the command, such as `job run`. */
  readonly words: string;
  readonly synopsis: string;
  readonly load: () => Promise<{ readonly command: CommandSpec }>;
}

const refusedEntry = ([words, refusal]: readonly [string, Refusal]): CatalogueEntry => ({
  words,
  synopsis: refusal.synopsis,
  load: async () => ({ command: (await import('./commands/refused.js')).refusedCommand(refusal) }),
});

const commandEntry = ([words, synopsis]: readonly [string, string]): CatalogueEntry => {
  const file = `./commands/${words.replaceAll(' ', '-')}.js`;
  // The test of the catalogue checks that the module exists and exports a command.
  return { words, synopsis, load: () => import(file) as Promise<{ readonly command: CommandSpec }> };
};

export const CATALOGUE: readonly CatalogueEntry[] = [
  ...Object.entries(SYNOPSES).map(commandEntry),
  ...Object.entries(REFUSALS).map(refusedEntry),
];

/** Number of words of the longest command, `operator root keyring list`. */
export const MOST_WORDS = 4;

const entryOf = (words: string): CatalogueEntry | undefined => CATALOGUE.find((entry) => entry.words === words);

/** Whether a command with these canonical words exists. */
export const isCommand = (words: string): boolean => entryOf(words) !== undefined;

/** Loads the module of a command. Returns undefined if there is no such command. */
export async function loadCommand(words: string): Promise<CommandSpec | undefined> {
  return (await entryOf(words)?.load())?.command;
}

/** Loads the module of a command that talks to a server. */
export async function loadServerCommand(words: string): Promise<ServerCommand | undefined> {
  const spec = await loadCommand(words);
  return spec?.offline === true ? undefined : spec;
}

/** Returns every first word of a command line, including short forms, without hidden ones. */
export const firstWords = (): string[] => [
  ...new Set([
    ...CATALOGUE.map(({ words }) => words.split(' ', 1)[0] ?? ''),
    ...[...ALIASES].filter(([word, { hidden }]) => hidden !== true || SHORT_FORMS.has(word)).map(([word]) => word),
  ]),
];

/** Returns the words that may follow: `status` after `job`, `apply` after `job tag`. */
export const subcommandsOf = (words: string): string[] => [
  ...new Set(
    CATALOGUE.filter((entry) => entry.words.startsWith(`${words} `)).map(
      (entry) => entry.words.slice(words.length + 1).split(' ', 1)[0] ?? '',
    ),
  ),
];
