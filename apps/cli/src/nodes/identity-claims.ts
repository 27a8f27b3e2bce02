import type { Cell } from '../terminal/table.js';
import { rfc3339 } from '../terminal/times.js';

export type IdentityClaims = Readonly<Record<string, unknown>>;

/** Claims with a time in Unix seconds. */
const TIMES: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf']);

/** Returns a row for each claim: the general ones first, then those about the node, both by name (AU-305). */
export function claimRows(claims: IdentityClaims): (readonly [string, Cell])[] {
  const names = Object.keys(claims).toSorted();
  const isOfNode = (name: string): boolean => name.startsWith('nomad');
  const ordered = [...names.filter((name) => !isOfNode(name)), ...names.filter(isOfNode)];
  return ordered.map((name) => [name, claimText(name, claims[name])]);
}

function claimText(name: string, value: unknown): string {
  if (TIMES.has(name) && typeof value === 'number') return rfc3339(value * 1_000);
  if (Array.isArray(value)) return value.map(String).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
