/** The one variable that goes with all that is run as root before a task. */
const CARRIER = 'WAYBILL_TASK_ENV';
/** Longest text of one variable that Linux takes. */
const MAX_BYTES = 128 * 1024 - CARRIER.length - 2;
/** Names that a shell keeps for itself. */
const OF_THE_SHELL = new Set(['PPID', 'UID', 'EUID', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO']);

/** The variables of a task are more than can be handed to it. */
export class EnvironmentTooLongError extends Error {
  override readonly name = 'EnvironmentTooLongError';
  constructor() {
    super(`the environment of the task is longer than ${MAX_BYTES} bytes`);
  }
}

/**
 * What programs that run as root on the way to a task have as environment: none of the task's own variables, because a
 * loader or a shell would obey them (`LD_PRELOAD`, `PATH`), but all of them as the text of one that nothing looks at.
 * @throws EnvironmentTooLongError
 */
export function carried(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env);
  const isPlain = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !OF_THE_SHELL.has(name);
  const exports = entries.filter(([name]) => isPlain(name)).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const others = entries.filter(([name]) => !isPlain(name)).map(([name, value]) => quoted(`${name}=${value}`));
  const lines = [
    `unset ${CARRIER} PATH`,
    ...(others.length > 0 ? [`set -- env ${others.join(' ')} "$@"`] : []),
    ...exports,
  ];
  const text = lines.join('\n');
  if (Buffer.byteLength(text) > MAX_BYTES) throw new EnvironmentTooLongError();
  return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', [CARRIER]: text };
}

/** A command that runs another one with the variables that were carried; to be run as the task's user, in its place. */
export const inTaskEnvironment = (workDir: string, command: readonly string[]): string[] => [
  '/bin/sh',
  '-c',
  `cd "$1" || exit 126; shift; eval "$${CARRIER}"; exec "$@"`,
  'sh',
  workDir,
  ...command,
];

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
