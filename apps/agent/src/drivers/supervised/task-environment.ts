import { StartError } from '../driver.js';

/** The largest size of one variable in bytes, including its name and the final zero byte. It is a limit of Linux. */
const MAX_STRING_BYTES = 128 * 1024;
/**
 * The largest number of carried pieces. Together with a command line they have to stay below Linux's limit of 2 MiB.
 */
const MAX_PIECES = 12;
const CARRIERS = Array.from({ length: MAX_PIECES }, (_, at) => `WAYBILL_TASK_ENV_${at}`);
const PIECE_BYTES = MAX_STRING_BYTES - 'WAYBILL_TASK_ENV_00='.length - 1;
/** Names that a shell reserves or interprets. */
const OF_THE_SHELL = new Set(['PPID', 'UID', 'EUID', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO', 'OPTIND', 'LINENO']);

/**
 * Returns the environment for the programs between the agent and the task. A loader or shell would obey some of the
 * task's variables (`LD_PRELOAD`, `IFS`), and they could overwrite the programs' own. Therefore all of the task's
 * variables are carried as one text that those programs ignore.
 * @throws StartError for a variable that no process can have; the message contains no value
 */
export function carriedVariables(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env);
  for (const [name, value] of entries) checkVariable(name, value);
  const isPlain = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !OF_THE_SHELL.has(name);
  const exports = entries.filter(([name]) => isPlain(name)).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const others = entries.filter(([name]) => !isPlain(name)).map(([name, value]) => quoted(`${name}=${value}`));
  const lines = [
    `unset ${CARRIERS.join(' ')} PATH`,
    ...(others.length > 0 ? [`set -- /usr/bin/env -- ${others.join(' ')} "$@"`] : []),
    ...exports,
  ];
  const pieces = piecesOf(lines.join('\n')).map((piece, at) => [CARRIERS[at] ?? '', piece]);
  return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...Object.fromEntries(pieces) };
}

/** Shell code that sets the carried variables, and makes the command that follows them the process's arguments. */
export const TAKE_ENVIRONMENT = `eval "${CARRIERS.map((name) => `$${name}`).join('')}"`;

/**
 * Returns a command that runs another one with the carried variables. It has to run as the task's user, inside the
 * task's root.
 */
export const inTaskEnvironment = (workDir: string, command: readonly string[]): string[] => [
  '/bin/sh',
  '-c',
  `cd "$1" || exit 126; shift; ${TAKE_ENVIRONMENT}; exec "$@"`,
  'sh',
  workDir,
  ...command,
];

/**
 * Checks a variable.
 * @throws StartError if no process can have it, or would have it under another name; the message contains no value
 */
export function checkVariable(name: string, value: string): void {
  if (name === '' || name.includes('='))
    throw new StartError(`variable ${JSON.stringify(name)} of the task is no name: it is empty or has a "="`);
  if (name.includes('\0') || value.includes('\0'))
    throw new StartError(
      `variable ${JSON.stringify(name)} of the task holds a zero byte, which no process can be given`,
    );
  if (Buffer.byteLength(name) + Buffer.byteLength(value) + '=\0'.length > MAX_STRING_BYTES)
    throw new StartError(`variable ${JSON.stringify(name)} of the task is longer than ${MAX_STRING_BYTES} bytes`);
}

/** Splits a text into pieces that fit into one variable each. No piece ends within a character. */
function piecesOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length;) {
    let to = Math.min(from + PIECE_BYTES, bytes.length);
    while (isWithinCharacter(bytes[to])) to--;
    pieces.push(bytes.toString('utf8', from, to));
    from = to;
  }
  if (pieces.length > MAX_PIECES)
    throw new StartError(`the environment of the task is longer than ${MAX_PIECES * PIECE_BYTES} bytes`);
  return pieces;
}

const isWithinCharacter = (byte = 0): boolean => (byte & 0b1100_0000) === 0b1000_0000;

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
