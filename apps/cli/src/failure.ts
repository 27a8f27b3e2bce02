/** A command ends unsuccessfully, with a text for stderr and an exit code (CL-161, CL-162). */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure';
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
  }
}

/** A flag is unknown, incomplete or invalid. The command's help follows on stdout (CL-112). */
export class FlagFailure extends CommandFailure {
  override readonly name: string = 'FlagFailure';
}

/** The command does not have this flag. */
export class UnknownFlag extends FlagFailure {
  constructor(
    readonly flag: string,
    readonly known: readonly string[],
  ) {
    super(`flag provided but not defined: -${flag}`);
  }
}

/** The number of arguments is wrong. A hint where to find help follows the command's message (CL-113). */
export class ArgumentFailure extends CommandFailure {
  override readonly name = 'ArgumentFailure';
}

/** Formats `Error <doing> <what>: <cause>` (CL-161). An interrupt and a complete message are passed on unchanged. */
export function failed(doing: string, cause: unknown): Error {
  if (cause instanceof CommandFailure || isInterrupt(cause)) return cause;
  return new CommandFailure(`Error ${doing}: ${causeOf(cause)}`);
}

/** An error of the system in Node's format: `ENOENT: no such file or directory, open 'web.hcl'`. */
const SYSTEM_TEXT = /^E[A-Z0-9]+: (.+), (\w+)(?: '(.*)')?$/;

/** Describes a cause for people: `open web.hcl: no such file or directory`. */
export function causeOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const [, why, doing, path] = SYSTEM_TEXT.exec(text) ?? [];
  if (why === undefined) return text;
  return path === undefined ? `${doing}: ${why}` : `${doing} ${path}: ${why}`;
}

/** Whether an error is the abort of a request or wait by Ctrl-C. */
export function isInterrupt(error: unknown): error is Error {
  return error instanceof Error && error.name === 'AbortError';
}
