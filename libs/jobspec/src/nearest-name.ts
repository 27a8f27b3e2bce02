/** Largest distance of a suggestion (JS-110). */
const MAX_DISTANCE = 2;

/**
 * Returns the known name nearest to the written one, the first by alphabet among equals, or undefined if none is near.
 */
export function nearest(written: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = MAX_DISTANCE + 1;
  for (const name of [...known].toSorted()) {
    const distance = editDistance(written, name);
    if (distance > 0 && distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/**
 * Counts insertions, deletions, replacements and swaps of neighbours. MAX_DISTANCE + 1 stands for any larger distance.
 */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_DISTANCE) return MAX_DISTANCE + 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const areSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = areSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
