import type { PlannedEvent } from '../run-plan.js';
import type { SeededRandom } from '../kernel/seeded-random.js';

/** Simulated minutes from the first event to the last: locks run out within seconds, and keys are looked at every ten minutes. */
const MINUTES = [1.5, 25] as const;

/** The same events over a longer time. @param fromMs when the first one may happen */
export function stretched(events: readonly PlannedEvent[], random: SeededRandom, fromMs: number): PlannedEvent[] {
  const lastMs = Math.max(fromMs, ...events.map(({ atMs }) => atMs));
  const share = random.next();
  const lengthMs = 60_000 * (MINUTES[0] + (MINUTES[1] - MINUTES[0]) * share * share);
  const factor = lengthMs / Math.max(1, lastMs - fromMs);
  return events.map((event) => ({ ...event, atMs: fromMs + (event.atMs - fromMs) * factor }));
}
