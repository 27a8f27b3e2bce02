import type { SpecMessage } from './spec-message.js';

/**
 * Returns a schema as JSON without the members that are not set, for the servers (PG-47). Cost: O(size of the schema).
 */
export const specText = (spec: SpecMessage): string => JSON.stringify(spec, (_, value: unknown) => leftOut(value));

function leftOut(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== '' && inner !== false);
  return Object.fromEntries(entries.filter(([name, inner]) => !(name.endsWith('_items') && inner === '0')));
}
