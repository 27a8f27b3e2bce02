const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration as people type it (`90s`, `1h30m`, `0`) in milliseconds; undefined if it is none (CL-115). */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g))
    sum += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  return sum;
}
