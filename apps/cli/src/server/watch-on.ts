import type { Call } from '../command-spec.js';
import { isInterrupt } from '../failure.js';

/**
 * Watches something at the server. Ctrl-C ends only that, and says by which command it goes on (CL-165).
 * @param again what continues it, behind the program's name
 * @throws what `watching` does
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

/** A flag for what belongs to a namespace, if one was asked for. */
export function namespaceWord({ connection: { namespace } }: Call['api']): string {
  return namespace === undefined ? '' : ` -namespace=${namespace}`;
}
