import type { Logger } from '@waybill/telemetry';

/**
 * Does something with each object of the state, one apart from the others: an object at which it throws is left out and
 * named in the log. A holder that starts goes through all of them, and one that it cannot take must not keep the role from
 * being held, again and again.
 * @param nameOf for people
 */
export function eachApart<One>(
  objects: Iterable<One>,
  nameOf: (one: One) => string,
  logger: Logger,
  each: (one: One) => void,
): void {
  for (const one of objects)
    try {
      each(one);
    } catch (error) {
      logger.error('a holder cannot take an object of the state and leaves it out', { object: nameOf(one), error });
    }
}
