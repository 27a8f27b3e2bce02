import type { ProcessIO } from './process-io.js';
import path from 'node:path';
import { MOST_WORDS, firstWords, isCommand, loadCommand, subcommandsOf } from './catalogue.js';
import { ALIASES, GROUPS } from './command-words.js';
import type { CommandSpec, OfflineCall } from './command-spec.js';
import { ArgumentFailure, causeOf, CommandFailure, FlagFailure, isInterrupt, UnknownFlag } from './failure.js';
import { asksForHelp, asksOwnHelp } from './flags/flag-syntax.js';
import { nearestWord } from './nearest-word.js';
import { Terminal } from './terminal/terminal.js';

const UNKNOWN_COMMAND = 127;
const INTERRUPTED = 130;

/**
 * One run of the program: finds the command, loads its module, parses the flags, runs it (CL-101 to CL-113).
 * @param called path with which the program was called
 * @returns the exit code
 */
export async function runProgram(called: string, words: readonly string[], io: ProcessIO): Promise<number> {
  const program = path.basename(called, '.js');
  const plain = new Terminal(io.stdout, io.stderr, { colour: false, interactive: false });
  const asked = await completionAsked(called, words, io, plain);
  if (asked !== undefined) return asked;
  const first = words.findIndex((word) => !word.startsWith('-') || word === '-');
  const before = first === -1 ? words : words.slice(0, first);
  if (before.some((word) => /^(-v|--?version)$/.test(word)))
    return runWords({ program, words: 'version', io }, [], plain);
  const found = first === -1 ? undefined : findCommand(words.slice(first));
  if (!found) {
    if (first === -1 && asksForHelp(before)) return printed(plain, await generalPage(program), 0);
    const near = first === -1 ? undefined : await nearestWord(words[first] ?? '', firstWords());
    if (near !== undefined) plain.note(`Unknown command "${words[first]}". Did you mean "${near}"?`);
    return printed(plain, await generalPage(program), UNKNOWN_COMMAND);
  }
  if (found.group !== undefined) {
    const near = asksForHelp(words) ? undefined : await nearestWord(found.tried, subcommandsOf(found.group));
    if (near !== undefined) plain.note(`Unknown command "${found.group} ${found.tried}". Did you mean "${near}"?`);
    const { groupHelp } = await import('./general-help.js');
    return printed(plain, groupHelp(program, found.group), asksForHelp(words) ? 0 : 1);
  }
  if (before.length > 0 && !asksForHelp(before)) {
    plain.note(
      `Invalid flags before the subcommand. Flags go behind it: ${program} ${found.words} ${before.join(' ')}`,
    );
    return printed(plain, await helpPage(found.words, program), 1);
  }
  const typed = words[first] ?? '';
  if (ALIASES.get(typed)?.deprecated === true)
    plain.note(`The command "${program} ${typed}" is deprecated: use "${program} ${found.words}".`);
  return runWords({ program, words: found.words, io }, [...before, ...found.rest], plain);
}

/**
 * Answers a shell that requests completions, and installs or removes its hook (CL-175). The code is loaded only then.
 */
async function completionAsked(
  called: string,
  words: readonly string[],
  io: ProcessIO,
  plain: Terminal,
): Promise<number | undefined> {
  const line = io.env['COMP_LINE'];
  if (line !== undefined) {
    const { complete } = await import('./completion/completion.js');
    for (const candidate of await complete(line, Number(io.env['COMP_POINT'] ?? line.length), io))
      plain.print(candidate);
    return 0;
  }
  const hook = /^--?autocomplete-(install|uninstall)$/.exec(words[0] ?? '')?.[1];
  if (hook === undefined) return undefined;
  const { changeHooks } = await import('./completion/completion-hooks.js');
  return changeHooks(hook === 'install' ? 'install' : 'uninstall', called, io.env, plain);
}

type Found =
  | { readonly words: string; readonly rest: readonly string[]; readonly group?: undefined }
  | { readonly group: string; readonly tried: string };

/** Finds the longest matching command. A group without a known subcommand is found as a group (CL-102, CL-104). */
function findCommand(words: readonly string[]): Found | undefined {
  for (let n = Math.min(MOST_WORDS, words.length); n > 0; n--) {
    const tried = words.slice(0, n).join(' ');
    const name = ALIASES.get(tried)?.words ?? tried;
    if (isCommand(name)) return { words: name, rest: words.slice(n) };
  }
  const group = words[0] ?? '';
  return GROUPS.has(group) ? { group, tried: words[1] ?? '' } : undefined;
}

async function load(words: string): Promise<CommandSpec> {
  const spec = await loadCommand(words);
  if (!spec) throw new TypeError(`no command ${words}`);
  return spec;
}

const generalPage = async (program: string): Promise<string> =>
  (await import('./general-help.js')).generalHelp(program);

async function helpPage(words: string, program: string): Promise<string> {
  const [{ helpOf }, spec] = await Promise.all([import('./command-line.js'), load(words)]);
  return helpOf(spec, words, program).trimEnd();
}

/** A command with the words of its call. */
interface Invocation {
  readonly program: string;
  /** The words of the command with aliases resolved. */
  readonly words: string;
  readonly io: ProcessIO;
}

async function runWords(invocation: Invocation, given: readonly string[], plain: Terminal): Promise<number> {
  const { program, words, io } = invocation;
  let terminal = plain;
  const [{ flagsOf, parseCommandLine }, spec] = await Promise.all([import('./command-line.js'), load(words)]);
  if (asksOwnHelp(given, flagsOf(spec), spec.ownArguments)) return printed(plain, await helpPage(words, program), 0);
  try {
    const { flags, args } = parseCommandLine(spec, words, given);
    const call = { program, typed: [...words.split(' '), ...given], flags, args, terminal };
    if (spec.offline === true) return await spec.run(checked(spec, call));
    const { serverCall, terminalFor } = await import('./server/server-call.js');
    terminal = terminalFor(flags, io);
    return await spec.run(await serverCall(spec, checked(spec, { ...call, terminal }), io));
  } catch (error) {
    const ownCode = await report(error, invocation, terminal);
    return isInterrupt(error) ? ownCode : (spec.failureExitCode ?? ownCode);
  }
}

/** Checks the number of arguments before any request (CL-113). @throws ArgumentFailure */
function checked(spec: CommandSpec, call: OfflineCall): OfflineCall {
  const { length } = call.args;
  if (length < spec.takes.min || length > spec.takes.max) throw new ArgumentFailure(spec.takes.otherwise);
  return call;
}

/** Prints one text for each failure, never a stack trace (CL-112, CL-113, CL-162). */
async function report(error: unknown, { program, words, io }: Invocation, terminal: Terminal): Promise<number> {
  if (isInterrupt(error)) {
    terminal.note('Interrupted: what was asked of the server goes on there');
    return INTERRUPTED;
  }
  terminal.error(causeOf(error));
  if (error instanceof UnknownFlag) {
    const near = await nearestWord(error.flag, error.known);
    if (near !== undefined) terminal.note(`Did you mean -${near}?`);
  }
  if (error instanceof FlagFailure) terminal.print(await helpPage(words, program));
  if (error instanceof ArgumentFailure) terminal.note(`For additional help try '${program} ${words} -help'`);
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof Error && io.env['WAYBILL_DEBUG'] === '1') terminal.note(error.stack ?? '');
  return 1;
}

function printed(terminal: Terminal, text: string, exitCode: number): number {
  terminal.print(text);
  return exitCode;
}
