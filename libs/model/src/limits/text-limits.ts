/**
 * Limits of texts that are not keys: messages, descriptions, values. A user's text that is too long is refused. A
 * machine's text is cut, because refusing its report would lose the machine or its allocation.
 */

/** Bytes of the message of a scaling action. A job keeps one with each of its scaling events. */
export const MAX_SCALING_MESSAGE_BYTES = 4_096;
/** Bytes of a scaling action's `Meta` as JSON. */
export const MAX_SCALING_META_BYTES = 64 * 1_024;
/** Bytes of a search text: more than the longest name. */
export const MAX_SEARCH_BYTES = 4_096;

/** Units of UTF-16 in one message of a machine: the reason of a failure with the output of the failed program. */
export const MAX_MACHINE_MESSAGE = 4_096;
/** Units of UTF-16 in one value of an attribute, of a machine's meta, or of an event's details. */
export const MAX_MACHINE_VALUE = 16_384;
/**
 * Units of UTF-16 in a name of an attribute, a driver, a network or a device. An entry with a longer name is left out.
 */
export const MAX_MACHINE_NAME = 255;

/**
 * Characters of a driver's configuration schema in a node. Each machine has its copy in the memory of every service. The
 * schema of the largest public driver has less than 8,000.
 */
export const MAX_DRIVER_SCHEMA_CHARS = 16_384;

const ELLIPSIS = '…';

/** Returns the text, cut to a length and marked as cut. Characters are never split. */
export function cutText(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  const end = maxUnits - ELLIPSIS.length;
  const splitsPair = HIGH_HALF.test(text.charAt(end - 1));
  return text.slice(0, splitsPair ? end - 1 : end) + ELLIPSIS;
}

const HIGH_HALF = /[\ud800-\udbff]/;

/** Returns the values, each cut, without those whose name is too long. Returns the same object if nothing changes. */
export function cutValues<Values extends Readonly<Record<string, string>> | null>(values: Values): Values {
  if (values === null) return values;
  const entries = Object.entries<string>(values);
  if (entries.every(([name, value]) => name.length <= MAX_MACHINE_NAME && value.length <= MAX_MACHINE_VALUE))
    return values;
  const kept = entries.filter(([name]) => name.length <= MAX_MACHINE_NAME);
  return Object.fromEntries(kept.map(([name, value]) => [name, cutText(value, MAX_MACHINE_VALUE)])) as Values;
}
