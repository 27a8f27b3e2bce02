import { FlagFailure, UnknownFlag } from '../failure.js';
import type { Flag } from './flag.js';

const FLAG = /^--?([^-=][^=]*)(?:=(.*))?$/s;

/**
 * Rewrites flags in the syntax of Go programs (`-x=v`, `-x v`, one dash or two, switches that take a value only with
 * `=`) to the single form of the option parser: `--x=v`. `--` and all words after it stay unchanged (CL-110).
 * @param ownArguments number of arguments after which another program's command line starts, which stays unchanged
 * (CL-111)
 * @throws FlagFailure for a flag that is unknown or lacks its value (CL-112)
 */
export function normaliseFlags(
  given: readonly string[],
  flags: readonly Flag[],
  ownArguments = Number.POSITIVE_INFINITY,
): string[] {
  const known = new Map(flags.map((flag) => [flag.name, flag]));
  const out: string[] = [];
  let args = 0;
  for (let i = 0; i < given.length; i++) {
    const word = given[i] ?? '';
    if (word === '--') return [...out, ...given.slice(i)];
    const [, name, inline] = FLAG.exec(word) ?? [];
    if (name === undefined) {
      if (/^-./s.test(word)) throw new FlagFailure(`bad flag syntax: ${word}`);
      if (args++ >= ownArguments) return [...out, '--', ...given.slice(i)];
      out.push(word);
      continue;
    }
    const flag = known.get(name);
    if (!flag) throw new UnknownFlag(name, [...known.keys()]);
    let value = inline;
    if (value === undefined && flag.kind === 'switch') value = 'true';
    if (value === undefined) value = given[++i];
    if (value === undefined) throw new FlagFailure(`flag needs an argument: -${name}`);
    out.push(`--${name}=${value}`);
  }
  return out;
}

/** Returns the known flags of an unparsed command line, with their values. */
export function knownFlags(given: readonly string[], flags: readonly Flag[]): string[] {
  const known = new Map(flags.map((flag) => [flag.name, flag]));
  return given.flatMap((word, i) => {
    const [, name = '', inline] = FLAG.exec(word) ?? [];
    const flag = known.get(name);
    if (!flag) return [];
    return inline === undefined && flag.kind !== 'switch' ? [word, ...given.slice(i + 1, i + 2)] : [word];
  });
}

const HELP = /^(-h|--?help)$/;

/** Whether the words before `--` request help (CL-105). */
export function asksForHelp(given: readonly string[]): boolean {
  const end = given.indexOf('--');
  return (end === -1 ? given : given.slice(0, end)).some((word) => HELP.test(word));
}

/**
 * Whether the words request the help of this command. Words of another program's command line do not count (CL-105).
 */
export function asksOwnHelp(
  given: readonly string[],
  flags: readonly Flag[],
  ownArguments: number | undefined,
): boolean {
  if (ownArguments === undefined || !asksForHelp(given)) return asksForHelp(given);
  const first = given.findIndex((word) => HELP.test(word));
  try {
    return !normaliseFlags(given.slice(0, first), flags, ownArguments).includes('--');
  } catch {
    return true;
  }
}
