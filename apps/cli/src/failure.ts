/** A command ends without success: one text for stderr and an exit code (CL-161, CL-162). */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure';
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
  }
}

/** A flag that is unknown, incomplete or wrong: the text, then the command's help on stdout (CL-112). */
export class FlagFailure extends CommandFailure {
  override readonly name: string = 'FlagFailure';
}

/** A flag that the command does not have. */
export class UnknownFlag extends FlagFailure {
  constructor(
    readonly flag: string,
    readonly known: readonly string[],
  ) {
    super(`flag provided but not defined: -${flag}`);
  }
}

/** A wrong number of arguments: the command's sentence, then where to find help (CL-113). */
export class ArgumentFailure extends CommandFailure {
  override readonly name = 'ArgumentFailure';
}

/** `Error <doing> <what>: <cause>` (CL-161). An interrupt stays an interrupt, a finished text stays as it is. */
export function failed(doing: string, cause: unknown): Error {
  if (cause instanceof CommandFailure || isInterrupt(cause)) return cause;
  return new CommandFailure(`Error ${doing}: ${causeOf(cause)}`);
}

/** What the system says, as Node puts it: `ENOENT: no such file or directory, open 'web.hcl'`. */
const SYSTEM_TEXT = /^E[A-Z0-9]+: (.+), (\w+)(?: '(.*)')?$/;

/** Why something failed, in words for people: `open web.hcl: no such file or directory`. */
export function causeOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const [, why, doing, path] = SYSTEM_TEXT.exec(text) ?? [];
  if (why === undefined) return text;
  return path === undefined ? `${doing}: ${why}` : `${doing} ${path}: ${why}`;
}

/** Ctrl-C, as an aborted request or wait shows it. */
export function isInterrupt(error: unknown): error is Error {
  return error instanceof Error && error.name === 'AbortError';
}
