import type { PlanAnnotations } from '../../api/contract.js';

type Updates = NonNullable<PlanAnnotations['DesiredTGUpdates']>[string];

const WORDS = [
  ['Place', 'placed'],
  ['Canary', 'placed as canaries'],
  ['DestructiveUpdate', 'replaced'],
  ['InPlaceUpdate', 'changed in place'],
  ['Migrate', 'moved'],
  ['Stop', 'stopped'],
  ['Preemptions', 'pushed out for room'],
  ['Ignore', 'left as they are'],
] as const satisfies readonly (readonly [keyof Updates, string])[];

/** Says what a plan does to the allocations of a group: `2 placed, 1 left as they are`. */
export function updatesInWords(updates: Updates): string {
  const parts = WORDS.filter(([name]) => updates[name] > 0).map(([name, words]) => `${updates[name]} ${words}`);
  return parts.length === 0 ? 'nothing changes' : parts.join(', ');
}
