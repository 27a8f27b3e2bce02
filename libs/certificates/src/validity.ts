const DAY_MS = 86_400_000;
/** Machines whose clocks are behind by less than this take a new certificate at once. */
const CLOCK_SKEW_MS = 60_000;

/** From just before now, for so many days. */
export function validity(nowMs: number, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(nowMs - CLOCK_SKEW_MS), notAfter: new Date(nowMs + days * DAY_MS) };
}
