import type { Logger } from '@waybill/telemetry';

/**
 * Calls `action` for each object of the state, and isolates failures: an object for which it throws is skipped and
 * logged. A holder iterates over all objects when it starts, and one bad object must not keep the role from being held.
 * @param nameOf for the log
 */
export function eachApart<One>(
  objects: Iterable<One>,
  nameOf: (one: One) => string,
  logger: Logger,
  action: (one: One) => void,
): void {
  for (const one of objects)
    try {
      action(one);
    } catch (error) {
      logger.error('a holder skips an object of the state, because its processing failed', {
        object: nameOf(one),
        error,
      });
    }
}
