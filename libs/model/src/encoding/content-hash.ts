import { createHash } from 'node:crypto';

/** Returns the SHA-256 of an object's content in base64. The order of its members does not matter. */
export const contentHash = (content: object): string =>
  createHash('sha256')
    .update(JSON.stringify(inOrder(content)))
    .digest('base64');

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, member]) => [name, inOrder(member)]);
}
