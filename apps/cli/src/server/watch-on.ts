import type { Call } from '../command-spec.js';
import { isInterrupt } from '../failure.js';

/**
 * Watches an object on the server. Ctrl-C ends only the watching and prints the command that continues it (CL-165).
 * @param again that command, without the program's name
 * @throws errors of `watching`
 */
export async function watchable<T>(
  { program, terminal }: Pick<Call, 'program' | 'terminal'>,
  again: () => string,
  watching: () => Promise<T>,
): Promise<T> {
  try {
    return await watching();
  } catch (error) {
    if (isInterrupt(error)) terminal.note(`To watch on: ${program} ${again()}`);
    throw error;
  }
}

/** Returns the flag for the requested namespace, if any, for a printed command. */
export function namespaceWord({ connection: { namespace } }: Call['api']): string {
  return namespace === undefined ? '' : ` -namespace=${namespace}`;
}
