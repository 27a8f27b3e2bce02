/**
 * How long texts may be that nobody looks up: messages, descriptions, values. A user's text that is too long is refused.
 * A machine's is cut, because to refuse its report would lose the machine or its allocation.
 */

/** Bytes of what somebody says about a scaling action. It is kept with the job, as often as scaling events are. */
export const MAX_SCALING_MESSAGE_BYTES = 4_096;
/** Bytes of a scaling action's `Meta` as JSON. */
export const MAX_SCALING_META_BYTES = 64 * 1_024;
/** Bytes of what a search looks for: more than the longest name there is. */
export const MAX_SEARCH_BYTES = 4_096;

/** Units of UTF-16 in one message of a machine: the reason of a failure with the output of what failed. */
export const MAX_MACHINE_MESSAGE = 4_096;
/** Units of UTF-16 in one value of an attribute, of a machine's meta, or of an event's details. */
export const MAX_MACHINE_VALUE = 16_384;
/** Units of UTF-16 in a name of an attribute, a driver, a network, a device. One that is longer is left out. */
export const MAX_MACHINE_NAME = 255;

const ELLIPSIS = '…';

/** The text, cut to a length, with a sign that it was; never in the middle of a character. */
export function cutText(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  const end = maxUnits - ELLIPSIS.length;
  const splitsPair = HIGH_HALF.test(text.charAt(end - 1));
  return text.slice(0, splitsPair ? end - 1 : end) + ELLIPSIS;
}

const HIGH_HALF = /[\ud800-\udbff]/;

/** The values, each cut; one whose name is too long is left out. The very object when nothing is to be done. */
export function cutValues<Values extends Readonly<Record<string, string>> | null>(values: Values): Values {
  if (values === null) return values;
  const entries = Object.entries<string>(values);
  if (entries.every(([name, value]) => name.length <= MAX_MACHINE_NAME && value.length <= MAX_MACHINE_VALUE))
    return values;
  const kept = entries.filter(([name]) => name.length <= MAX_MACHINE_NAME);
  return Object.fromEntries(kept.map(([name, value]) => [name, cutText(value, MAX_MACHINE_VALUE)])) as Values;
}
