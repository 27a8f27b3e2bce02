const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration such as `1m30s` or `500ms`; undefined if the text is none. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const part = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/gy;
  let ms = 0;
  let at = 0;
  for (let match = part.exec(text); match; match = part.exec(text)) {
    ms += Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0);
    at = part.lastIndex;
  }
  return at === text.length && text !== '' ? ms : undefined;
}
