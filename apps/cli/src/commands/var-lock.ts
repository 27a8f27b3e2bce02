import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { msFromNs, parseDuration } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { ArgumentFailure, causeOf, CommandFailure } from '../failure.js';
import { HeldLock } from '../variables/held-lock.js';
import { forbidWildcard } from '../variables/variable.js';
import { wantedVariable } from '../variables/variable-spec.js';

/** Base of the exit code of a command that a signal ended, as in shells. */
const SIGNALLED = 128;
const STANDARD_STREAMS = [0, 1, 2];

/** Runs another command while it holds the lock of a variable (OP-199 to OP-202). */
export const command: ServerCommand = {
  usage: '<path>|@<file> <command> [<argument>…]',
  description:
    'Waits for the lock of a variable, runs a command while it holds the lock, and releases it. If the lock is ' +
    'lost, the command gets SIGTERM. SIGINT and SIGTERM go to the command. The variable keeps its items unless a file contains others. Exits with 1 if ' +
    'the lock is lost or not available, otherwise with the exit code of the command.\n\nNeeds the capabilities ' +
    'read and write of the path.',
  flags: [
    { name: 'ttl', kind: 'text', value: 'duration', help: 'Time to live of the lock without renewals (15s).' },
    { name: 'delay', kind: 'text', value: 'duration', help: 'Time after that in which nobody gets the lock (15s).' },
    {
      name: 'max-retry',
      kind: 'integer',
      value: 'n',
      help: 'Retries for a held lock (default: until it is free).',
    },
    { name: 'shell', kind: 'switch', help: 'Run the command with sh -c.' },
    { name: 'verbose', kind: 'switch', help: 'Print when the lock is acquired and released.' },
  ],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  ownArguments: 1,
  async run(call) {
    const { args, flags, terminal } = call;
    const [target = '', ...words] = args;
    if (target === '') throw new ArgumentFailure('A path is required');
    if (words.length === 0) throw new ArgumentFailure('A command is required');
    forbidWildcard(call);
    const spec = target.startsWith('@') ? await specificationOf(call, target) : undefined;
    const wish = {
      path: spec?.path ?? target,
      items: spec?.items,
      ttl: flags.text('ttl'),
      delay: flags.text('delay'),
      maxRetries: flags.integer('max-retry'),
    };
    const note = (text: string): void => (flags.on('verbose') ? terminal.note(text) : undefined);
    const lock = await HeldLock.acquire(call, wish, millisecondsOf, () =>
      note(`Waiting for the lock of "${wish.path}"`),
    );
    note(`Holding the lock of "${wish.path}"`);
    try {
      const code = await run(call, lock, flags.on('shell') ? ['sh', '-c', words.join(' ')] : words);
      if (!lock.lost.aborted) return code;
      throw new CommandFailure(`The lock of "${wish.path}" was lost`);
    } finally {
      await lock.release();
      if (!lock.lost.aborted) note(`Released the lock of "${wish.path}"`);
    }
  },
};

const specificationOf = ({ api, terminal }: Call, reference: string) =>
  wantedVariable([reference], {
    language: undefined,
    namespace: api.connection.namespace,
    onOddKey: (key) => terminal.warn(`"${key}" has other characters than letters, digits and _`),
  });

/** Returns a duration of the server's response in milliseconds. */
const millisecondsOf = (duration: string): number => msFromNs(parseDuration(duration) ?? 0);

/**
 * Runs the command and resolves with its exit code. The command decides about signals: it gets SIGTERM, and a SIGINT
 * unless it shares the terminal, which sends Ctrl-C to both. @throws CommandFailure
 */
async function run({ interrupts }: Call, lock: HeldLock, [program = '', ...words]: readonly string[]): Promise<number> {
  const child = spawn(program, words, { stdio: 'inherit' });
  const kill = (): void => void child.kill('SIGTERM');
  const sharesTerminal = STANDARD_STREAMS.some((stream) => isatty(stream));
  interrupts.takeOver(() => void (sharesTerminal || child.kill('SIGINT')));
  process.on('SIGTERM', kill);
  lock.lost.addEventListener('abort', kill, { once: true });
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? SIGNALLED + constants.signals[signal ?? 'SIGTERM'];
  } catch (error) {
    throw new CommandFailure(`Error running the command: ${causeOf(error)}`);
  } finally {
    process.off('SIGTERM', kill);
    lock.lost.removeEventListener('abort', kill);
  }
}
