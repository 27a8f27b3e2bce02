import { Command, Option } from 'commander';
import type { CommandSpec } from './command-spec.js';
import { EXAMPLES } from './examples.js';
import type { Flag } from './flags/flag.js';
import { knownFlags, normaliseFlags } from './flags/flag-syntax.js';
import { GLOBAL_FLAGS } from './flags/global-flags.js';
import { ParsedFlags, parseFlagValue } from './flags/parsed-flags.js';

/** Width of a help page in columns. */
const HELP_WIDTH = 100;

/** The parsed words after a command. */
export interface CommandLine {
  readonly flags: ParsedFlags;
  readonly args: readonly string[];
}

/** Returns all flags that a command accepts: its own and, if it talks to a server, the general ones. */
export const flagsOf = (spec: CommandSpec): readonly Flag[] => [...generalFlagsOf(spec), ...spec.flags];

function generalFlagsOf(spec: CommandSpec): readonly Flag[] {
  if (spec.offline === true) return [];
  return spec.withoutNamespace === true ? GLOBAL_FLAGS.filter(({ name }) => name !== 'namespace') : GLOBAL_FLAGS;
}

/** Parses the words after a command. @throws FlagFailure (CL-110 to CL-112, CL-115) */
export function parseCommandLine(spec: CommandSpec, words: string, given: readonly string[]): CommandLine {
  const flags = flagsOf(spec);
  const command = parserOf(spec, words, '');
  const meant = spec.ignoresFlags ? knownFlags(given, flags) : given;
  command.parse(normaliseFlags(meant, flags, spec.ownArguments), { from: 'user' });
  return { flags: new ParsedFlags(flags, command), args: command.args };
}

/** Returns the help page of a command (CL-109). */
export function helpOf(spec: CommandSpec, words: string, program: string): string {
  return `${parserOf(spec, words, program).helpInformation()}${examplesOf(words, program)}`;
}

function examplesOf(words: string, program: string): string {
  const lines = EXAMPLES[words]?.map(([line, meaning]) => `  # ${meaning}\n  ${program} ${line}\n`) ?? [];
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('')}`;
}

function parserOf(spec: CommandSpec, words: string, program: string): Command {
  const alias = spec.alias === undefined ? '' : `\n\nAlias: ${program} ${spec.alias}`;
  const command = new Command(program === '' ? words : `${program} ${words}`)
    .usage(`[options]${spec.usage === '' ? '' : ` ${spec.usage}`}`)
    .description(`${spec.description}${alias}`)
    .exitOverride()
    .helpOption(false)
    .argument('[args...]')
    .configureOutput({ getOutHelpWidth: () => HELP_WIDTH, getOutHasColors: () => false })
    .configureHelp({ optionTerm: (option) => option.flags.replace(/^--/, '-'), visibleArguments: () => [] });
  if (spec.offline !== true) {
    command.optionsGroup('General Options:');
    for (const flag of generalFlagsOf(spec)) command.addOption(optionOf(flag));
  }
  command.optionsGroup(`${titled(words)} Options:`);
  for (const flag of spec.flags) command.addOption(optionOf(flag));
  return command;
}

function optionOf(flag: Flag): Option {
  const value = flag.kind === 'switch' ? '' : `=<${flag.value ?? 'value'}>`;
  const option = new Option(`--${flag.name} <value>`, flag.help);
  // A flag named `no-…` is a switch with that name, not the negation of another one.
  option.negate = false;
  option.flags = `--${flag.name}${value}`;
  option.argParser((text, previous: unknown) => {
    const parsed = parseFlagValue(flag, text);
    return flag.kind === 'list' ? [...(Array.isArray(previous) ? previous : []), parsed] : parsed;
  });
  return option;
}

const titled = (words: string): string => words.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
