import { allocIndex, allocName, type Allocation } from '@waybill/model';

/**
 * The indexes of a group's names in use, and how often each is used (SC-205 to SC-208, SC-149). One for each group and
 * attempt. Memory: one entry for each index in use. Cost: `next` O(Count + n), `highest` O(used log used).
 */
export class NameIndex {
  private readonly used = new Map<number, number>();

  constructor(
    private readonly jobId: string,
    private readonly group: string,
    private readonly count: number,
    inUse: Iterable<Pick<Allocation, 'Name'>>,
  ) {
    for (const { Name } of inUse) this.add(indexIn(Name));
  }

  /**
   * Unused names below Count in ascending order; when there are no more, names from 0 on a second time.
   * @param canaries names that only canaries use: they are free
   */
  next(n: number, canaries: Iterable<{ readonly name: string }> = []): string[] {
    const names: string[] = [];
    const shared = new Map<number, number>();
    for (const { name } of canaries) shared.set(indexIn(name), (shared.get(indexIn(name)) ?? 0) + 1);
    const isFree = (index: number): boolean => (this.used.get(index) ?? 0) <= (shared.get(index) ?? 0);
    for (let i = 0; i < this.count && names.length < n; i++) if (isFree(i)) names.push(this.useIndex(i));
    for (let i = 0; names.length < n; i++) names.push(this.useIndex(i));
    return names;
  }

  /**
   * Names for canaries (SC-208). Canaries run beside the allocations that they will replace, so they take names of
   * destructive updates first, then unused ones, then those above Count.
   */
  nextCanaries(
    n: number,
    canaries: Iterable<Pick<Allocation, 'Name'>>,
    destructive: Iterable<Pick<Allocation, 'Name'>>,
  ): string[] {
    const taken = new Set([...canaries].map(({ Name }) => indexIn(Name)));
    const chosen: number[] = [];
    const choose = (index: number): void => {
      if (chosen.length >= n || taken.has(index)) return;
      taken.add(index);
      chosen.push(index);
    };
    const replaced = [...destructive].map(({ Name }) => indexIn(Name)).filter((index) => index < this.count);
    for (const index of replaced.toSorted((a, b) => a - b)) choose(index);
    for (let i = 0; i < this.count && chosen.length < n; i++) if (!this.used.has(i)) choose(i);
    for (let i = this.count; chosen.length < n; i++) choose(i);
    return chosen.map((index) => this.useIndex(index));
  }

  /** Takes the highest names in use out of the index. */
  highest(n: number): Set<string> {
    const highest = [...this.used.keys()].toSorted((a, b) => b - a).slice(0, n);
    for (const index of highest) this.used.delete(index);
    return new Set(highest.map((index) => allocName(this.jobId, this.group, index)));
  }

  /** Counts one use of this name less. */
  release(name: string): void {
    const index = indexIn(name);
    const left = (this.used.get(index) ?? 0) - 1;
    if (left > 0) this.used.set(index, left);
    else this.used.delete(index);
  }

  /** The name of a replacement: that of the original, or the next free one if two allocations have it (SC-149). */
  successorOf(name: string): string {
    const index = indexIn(name);
    if ((this.used.get(index) ?? 1) <= 1) return name;
    for (let i = 0; i < this.count; i++) {
      if (this.used.has(i)) continue;
      this.release(name);
      return this.useIndex(i);
    }
    return name;
  }

  private useIndex(index: number): string {
    this.add(index);
    return allocName(this.jobId, this.group, index);
  }

  private add(index: number): void {
    this.used.set(index, (this.used.get(index) ?? 0) + 1);
  }
}

/** The index in a name; a name without a readable index counts as 0 (SC-10). */
export const indexIn = (name: string): number => Math.max(0, allocIndex(name));
