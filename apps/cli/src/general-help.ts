import { CATALOGUE } from './catalogue.js';
import { ALIASES, COMMON, GROUPS, SHORT_FORMS } from './command-words.js';
import { table } from './terminal/table.js';

/** Prints the common commands in a fixed order, then all others sorted (CL-108). */
export function generalHelp(program: string): string {
  const synopses = new Map<string, string>(GROUPS);
  for (const { words, synopsis } of CATALOGUE) if (!words.includes(' ')) synopses.set(words, synopsis);
  for (const [word, alias] of ALIASES) if (alias.hidden !== true) synopses.set(word, synopsisOf(alias.words));
  const common = COMMON.filter((word) => synopses.has(word));
  const other = [...synopses.keys()].filter((word) => !common.includes(word) && !SHORT_FORMS.has(word)).toSorted();
  // Both lists come from one table, so their columns are aligned.
  const lines = rows([...common, ...other].map((word) => [word, synopses.get(word) ?? '']));
  return [
    `Usage: ${program} [-version] [-help] [-autocomplete-(un)install] <command> [args]`,
    '',
    'Common commands:',
    ...lines.slice(0, common.length),
    '',
    'Other commands:',
    ...lines.slice(common.length),
  ].join('\n');
}

/** Prints the subcommands of a group (CL-104). */
export function groupHelp(program: string, group: string): string {
  const members = CATALOGUE.filter(({ words }) => words.startsWith(`${group} `));
  return [
    `Usage: ${program} ${group} <subcommand> [options] [args]`,
    '',
    `  ${GROUPS.get(group) ?? ''}.`,
    '',
    'Subcommands:',
    ...rows(members.map(({ words, synopsis }) => [words.slice(group.length + 1), synopsis])),
  ].join('\n');
}

const synopsisOf = (words: string): string => CATALOGUE.find((entry) => entry.words === words)?.synopsis ?? '';

const rows = (entries: readonly (readonly string[])[]): string[] =>
  table(entries)
    .split('\n')
    .map((line) => `    ${line}`);
