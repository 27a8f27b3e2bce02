/** The number of samples that a browser keeps: ten minutes, one every two seconds. */
const MOST_SAMPLES = 300;
/** A pause between two samples, in seconds, after which a line is interrupted. */
const LONGEST_PAUSE_S = 15;

/** Sample is what was measured at one moment, by name. */
export interface Sample {
  /** Unix seconds. */
  readonly time: number;
  readonly values: Readonly<Record<string, number>>;
}

/** Samples are the moments and, for each name, a value for each moment; null where nothing was measured. */
export interface Samples {
  readonly times: readonly number[];
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
}

export const NO_SAMPLES: Samples = { times: [], values: {} };

/**
 * Appends a sample and drops the oldest ones. A sample that is not newer than the last one is ignored, because a machine
 * measures at most once in a while. After a long pause, in which nobody looked, a moment without values interrupts the
 * lines. Cost: O(names × samples).
 */
export function withSample(before: Samples, { time, values }: Sample): Samples {
  const last = before.times.at(-1);
  if (last !== undefined && time <= last) return before;
  const isLate = last !== undefined && time - last > LONGEST_PAUSE_S;
  const times = [...before.times, ...(isLate ? [(last + time) / 2] : []), time];
  const names = new Set([...Object.keys(before.values), ...Object.keys(values)]);
  const lines = [...names].map((name) => {
    const line = before.values[name] ?? before.times.map(() => null);
    return [name, [...line, ...(isLate ? [null] : []), values[name] ?? null].slice(-MOST_SAMPLES)] as const;
  });
  return { times: times.slice(-MOST_SAMPLES), values: Object.fromEntries(lines) };
}

/** Returns the newest value of a line; undefined if there is none. */
export const newest = ({ values }: Samples, name: string): number | undefined => values[name]?.at(-1) ?? undefined;
