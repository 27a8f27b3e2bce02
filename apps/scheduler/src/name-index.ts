import { allocIndex, allocName, type Allocation } from '@waybill/model';

/**
 * Which indexes of a group's names are in use (SC-205 to SC-207). One per group and attempt.
 * Memory: one entry per index in use. Cost: `next` O(Count + n), `highest` O(used log used).
 */
export class NameIndex {
  private readonly used = new Set<number>();

  constructor(
    private readonly jobId: string,
    private readonly group: string,
    private readonly count: number,
    inUse: Iterable<Pick<Allocation, 'Name'>>,
  ) {
    for (const { Name } of inUse) this.used.add(indexIn(Name));
  }

  /** Unused names below Count in ascending order; when there are no more, names from 0 on a second time. */
  next(n: number): string[] {
    const names: string[] = [];
    for (let i = 0; i < this.count && names.length < n; i++) if (!this.used.has(i)) names.push(this.take(i));
    for (let i = 0; names.length < n; i++) names.push(this.take(i));
    return names;
  }

  /** The highest names in use, taken out of the index. */
  highest(n: number): Set<string> {
    const highest = [...this.used].toSorted((a, b) => b - a).slice(0, n);
    for (const index of highest) this.used.delete(index);
    return new Set(highest.map((index) => allocName(this.jobId, this.group, index)));
  }

  release(name: string): void {
    this.used.delete(indexIn(name));
  }

  private take(index: number): string {
    this.used.add(index);
    return allocName(this.jobId, this.group, index);
  }
}

/** SC-10: a name without a readable index counts as 0. */
export const indexIn = (name: string): number => Math.max(0, allocIndex(name));
