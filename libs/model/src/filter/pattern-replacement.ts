import { FilterSyntaxError } from './filter-error.js';
import { compile, type Instruction } from './pattern-program.js';
import { parsePattern, PatternError } from './pattern-syntax.js';

export { FilterSyntaxError };

/** Start and end of a match and its groups. Undefined for a group that took no part. */
type Places = readonly (number | undefined)[];

/** One path through the program up to the current position. */
interface Thread {
  readonly at: number;
  readonly places: Places;
}

/**
 * Replaces every match of an RE2 pattern, as Go's `ReplaceAllString` does. Of the matches that start at one position,
 * the one that the pattern prefers is replaced, and matches never overlap. In the replacement, `$1`, `$name` and
 * `${name}` stand for groups, and `$$` for a dollar. An unknown group is empty.
 *
 * All paths through the pattern are followed at once, so the time is at most text × program for each match.
 * @param spend called with the number of steps; an error that it throws ends the search
 * @throws FilterSyntaxError
 */
export function replaceMatches(
  text: string,
  pattern: string,
  replacement: string,
  spend: (steps: number) => void,
): string {
  const { program, groupNames } = compiled(pattern);
  let result = '';
  let written = 0;
  for (let from = 0; from <= text.length;) {
    const places = search(program, text, from, spend);
    const [start, end] = [places?.[0], places?.[1]];
    if (!places || start === undefined || end === undefined) break;
    result += text.slice(written, start);
    // An empty match directly after a match is not replaced.
    if (end > written || start === 0) result += expanded(replacement, text, places, groupNames);
    written = end;
    from = Math.max(end, from + widthAt(text, from));
  }
  return result + text.slice(written);
}

function compiled(text: string): { program: readonly Instruction[]; groupNames: readonly string[] } {
  try {
    const { node, groupNames } = parsePattern(text);
    return { program: compile({ kind: 'group', of: node, group: 0 }), groupNames };
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new FilterSyntaxError(`error parsing regexp: ${error.message}: \`${text}\``);
  }
}

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

/** Returns the first match that starts at `from` or later. */
function search(
  program: readonly Instruction[],
  text: string,
  from: number,
  spend: (steps: number) => void,
): Places | undefined {
  let threads: Thread[] = [];
  let found: Places | undefined;
  for (let at = from; ; at += widthAt(text, at)) {
    const after = text.codePointAt(at) ?? -1;
    const reached: Reached = { seen: new Set(), here: [] };
    const follow = (thread: Thread): void => followed(program, thread, { text, at, after }, reached);
    for (const thread of threads) follow(thread);
    if (!found) follow({ at: 0, places: [] });
    spend(1 + reached.seen.size);
    threads = [];
    for (const { at: pc, places } of reached.here) {
      const instruction = program[pc];
      if (instruction?.kind === 'match') {
        // The remaining threads are less preferred.
        found = places;
        break;
      }
      if (instruction?.kind === 'character' && after !== -1 && instruction.matches(after))
        threads.push({ at: instruction.next, places });
    }
    if (after === -1 || (found && threads.length === 0)) return found;
  }
}

/** The threads at one position of the text. */
interface Reached {
  /** Instructions that some thread has reached. */
  readonly seen: Set<number>;
  /** Threads that wait for a character or have matched, in order of preference. */
  readonly here: Thread[];
}

/** Adds all instructions that a thread reaches without consuming a character, in order of preference. */
function followed(
  program: readonly Instruction[],
  from: Thread,
  { text, at, after }: { text: string; at: number; after: number },
  { seen, here }: Reached,
): void {
  const open = [from];
  for (let thread = open.pop(); thread; thread = open.pop()) {
    if (seen.has(thread.at)) continue;
    seen.add(thread.at);
    const { places } = thread;
    const instruction = program[thread.at];
    switch (instruction?.kind) {
      case 'split':
        open.push({ at: instruction.second, places }, { at: instruction.first, places });
        break;
      case 'save':
        open.push({ at: instruction.next, places: Object.assign([...places], { [instruction.slot]: at }) });
        break;
      case 'assert':
        if (instruction.holds(before(text, at), after)) open.push({ at: instruction.next, places });
        break;
      default:
        here.push(thread);
    }
  }
}

function before(text: string, at: number): number {
  if (at === 0) return -1;
  const pair = text.codePointAt(at - 2) ?? 0;
  return at > 1 && pair > 0xffff ? pair : text.charCodeAt(at - 1);
}

const REFERENCE = /\$(?:(\$)|\{([\p{L}\p{N}_]+)\}|([\p{L}\p{N}_]+))/gu;

function expanded(replacement: string, text: string, places: Places, groupNames: readonly string[]): string {
  return replacement.replaceAll(REFERENCE, (_, dollar?: string, braced?: string, bare?: string) => {
    if (dollar !== undefined) return dollar;
    const name = braced ?? bare ?? '';
    const group = /^\d+$/.test(name) ? Number(name) : groupNames.indexOf(name) + 1;
    // Group 0 is the whole match and has no name.
    if (group === 0 && name !== '0') return '';
    return text.slice(places[2 * group] ?? 0, places[2 * group + 1] ?? 0);
  });
}
