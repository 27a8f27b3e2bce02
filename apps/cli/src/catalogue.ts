import type { CommandSpec, ServerCommand } from './command-spec.js';
import { ALIASES, SHORT_FORMS } from './command-words.js';
import { REFUSALS, type Refusal } from './refusals.js';
import { SYNOPSES } from './synopses.js';

/** A command as the general help and the dispatcher know it; its module is loaded only when it is called. */
export interface CatalogueEntry {
  /** `job run`. */
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
  // That the module is there, and is one of a command, is what the catalogue's test is for.
  return { words, synopsis, load: () => import(file) as Promise<{ readonly command: CommandSpec }> };
};

export const CATALOGUE: readonly CatalogueEntry[] = [
  ...Object.entries(SYNOPSES).map(commandEntry),
  ...Object.entries(REFUSALS).map(refusedEntry),
];

/** Words of the longest command, `operator root keyring list`. */
export const MOST_WORDS = 4;

const entryOf = (words: string): CatalogueEntry | undefined => CATALOGUE.find((entry) => entry.words === words);

/** Whether there is such a command, by its canonical words. */
export const isCommand = (words: string): boolean => entryOf(words) !== undefined;

/** The module of a command; undefined: there is no such command. */
export async function loadCommand(words: string): Promise<CommandSpec | undefined> {
  return (await entryOf(words)?.load())?.command;
}

/** The same for a command that talks to a server. */
export async function loadServerCommand(words: string): Promise<ServerCommand | undefined> {
  const spec = await loadCommand(words);
  return spec?.offline === true ? undefined : spec;
}

/** Every word that a command line can begin with, short forms and all that is not hidden. */
export const firstWords = (): string[] => [
  ...new Set([
    ...CATALOGUE.map(({ words }) => words.split(' ', 1)[0] ?? ''),
    ...[...ALIASES].filter(([word, { hidden }]) => hidden !== true || SHORT_FORMS.has(word)).map(([word]) => word),
  ]),
];

/** Words that may follow others of a command: `status` after `job`, `apply` after `job tag`. */
export const subcommandsOf = (words: string): string[] => [
  ...new Set(
    CATALOGUE.filter((entry) => entry.words.startsWith(`${words} `)).map(
      (entry) => entry.words.slice(words.length + 1).split(' ', 1)[0] ?? '',
    ),
  ),
];
