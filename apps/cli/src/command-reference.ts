import { CATALOGUE, loadCommand } from './catalogue.js';
import { ALIASES } from './command-words.js';
import type { CommandSpec } from './command-spec.js';
import type { Flag } from './flags/flag.js';
import { GLOBAL_FLAGS } from './flags/global-flags.js';
import { REFUSALS } from './refusals.js';
import { table } from './terminal/table.js';

/** Path of the reference, from the root of the repository. */
export const REFERENCE_FILE = 'docs/commands.md';

/** Returns all commands with their flags as one page of Markdown, from the tables that the program itself uses. */
export async function commandReference(): Promise<string> {
  const words = CATALOGUE.map((entry) => entry.words)
    .filter((entry) => !(entry in REFUSALS))
    .toSorted();
  const sections = await Promise.all(words.map(section));
  return [
    '# Commands',
    '`node apps/cli/dist/write-command-reference.js` generates this page from the program, and a test compares the two. [cli.md](cli.md) describes exit codes and what all commands have in common. [reference/cli.md](reference/cli.md) lists the rules. [Nomad commands without a function here](#nomad-commands-without-a-function-here) are at the end.',
    '## General options',
    'Every command that talks to a server has these options.',
    fenced(flagLines(GLOBAL_FLAGS)),
    ...sections.flat(),
    '## Nomad commands without a function here',
    'Each of these commands exits with 1 and one line that says why.',
    refusedCommands(),
  ]
    .join('\n\n')
    .concat('\n');
}

/** Returns one line for each reason, with all commands that are refused for it. */
function refusedCommands(): string {
  const byReason = new Map<string, string[]>();
  for (const [words, { text }] of Object.entries(REFUSALS))
    byReason.set(text, [...(byReason.get(text) ?? []), `\`${words}\``]);
  return [...byReason].map(([reason, words]) => `- ${words.join(', ')}: ${escaped(reason)}.`).join('\n');
}

async function section(words: string): Promise<string[]> {
  const spec = await loadCommand(words);
  if (!spec) throw new RangeError(`the catalogue has no ${words}`);
  return [
    `## ${words}`,
    escaped(spec.description),
    ...othersFor(words),
    fenced([usage(words, spec), ...(spec.flags.length === 0 ? [] : ['', ...flagLines(spec.flags)])]),
  ];
}

const usage = (words: string, spec: CommandSpec): string =>
  [
    'waybill',
    words,
    ...(spec.flags.length === 0 ? [] : ['[options]']),
    ...(spec.usage === '' ? [] : [spec.usage]),
  ].join(' ');

function othersFor(words: string): string[] {
  const others = [...ALIASES].filter(([, alias]) => alias.words === words).map(([word]) => `\`${word}\``);
  return others.length === 0 ? [] : [`Also: ${others.toSorted((a, b) => (a < b ? -1 : 1)).join(', ')}.`];
}

const flagLines = (flags: readonly Flag[]): string[] =>
  table(
    flags.map((flag) => [`-${flag.name}${flag.kind === 'switch' ? '' : `=<${flag.value ?? 'value'}>`}`, flag.help]),
  ).split('\n');

const fenced = (lines: readonly string[]): string => ['```text', ...lines, '```'].join('\n');

/** Escapes characters that Markdown would interpret. */
const escaped = (text: string): string => text.replaceAll(/[<>*_|]/g, (sign) => `\\${sign}`);
