import { formatDuration } from '@waybill/model/duration';
import { isTransient } from './api-failure.js';
import type { Call } from '../command-spec.js';
import { causeOf } from '../failure.js';

/** Number of attempts for a read. The waits between them double up to a maximum (CL-214). */
export const MAX_ATTEMPTS = 10;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 12_000;

/**
 * Retries a read with growing waits while the server cannot be reached or reports an internal problem, and prints that
 * it does (CL-214, CL-208).
 * @throws the error of the last attempt
 */
export async function retriedRead<T>(
  what: string,
  { sleep, terminal }: Pick<Call, 'sleep' | 'terminal'>,
  read: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1, waitMs = FIRST_WAIT_MS; ; attempt++, waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    try {
      return await read();
    } catch (error) {
      if (!isTransient(error) || attempt > MAX_ATTEMPTS) throw error;
      const wait = formatDuration(waitMs * 1e6);
      terminal.note(
        `Failed fetching ${what}: ${causeOf(error)}, retrying in ${wait} (attempt ${attempt}/${MAX_ATTEMPTS})`,
      );
      await sleep(waitMs);
    }
  }
}
