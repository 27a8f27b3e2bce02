import type { QueryClient } from '@tanstack/react-query';
import type { Allocation, AllocListStub } from '../api/contract.js';
import { nameOf, type QueryKey } from './affected-queries.js';
import type { Change } from './change.js';
import { changedInPlace, listsOf, patchedList } from './patched-lists.js';

/** The time in milliseconds between two patches: a page with a hundred changes a second draws thirty times a second. */
const PAUSE_MS = 33;

/**
 * ListPatches keeps cached lists of allocations new from the events themselves, so that a change of one row does not read
 * ten thousand again. Changes of a row that wait for the next patch count once.
 *
 * Modes: idle → waiting → idle. A list that is being read, or lacks a changed row, is read again instead. Limit: the
 * rows of the lists that pages show. Cost: one pass over a changed list per patch.
 */
export class ListPatches {
  private readonly waiting = new Map<string, { readonly key: QueryKey; readonly changed: Map<string, Allocation> }>();
  private isDue = false;

  /**
   * @param reread reads the answers under a key again if a page shows them
   * @param later calls back after a time in milliseconds
   */
  constructor(
    private readonly queries: QueryClient,
    private readonly reread: (keys: readonly QueryKey[]) => void,
    private readonly later: (ms: number, patch: () => void) => void,
  ) {}

  /** @returns the keys of the lists that the change will patch */
  add(change: Change): readonly QueryKey[] {
    const alloc = changedInPlace(change);
    if (!alloc) return [];
    const keys = listsOf(alloc).filter((key) => this.isShown(key));
    for (const key of keys) {
      const name = nameOf(key);
      const list = this.waiting.get(name) ?? { key, changed: new Map<string, Allocation>() };
      this.waiting.set(name, list);
      list.changed.set(alloc.ID, alloc);
    }
    if (keys.length > 0 && !this.isDue) {
      this.isDue = true;
      this.later(PAUSE_MS, () => this.patch());
    }
    return keys;
  }

  private isShown(key: QueryKey): boolean {
    return this.queries.getQueryData([...key]) !== undefined;
  }

  private patch(): void {
    this.isDue = false;
    const lists = [...this.waiting.values()];
    this.waiting.clear();
    for (const { key, changed } of lists) {
      const queryKey = [...key];
      const isRead = this.queries.isFetching({ queryKey, exact: true }) > 0;
      const list = this.queries.getQueryData<readonly AllocListStub[]>(queryKey);
      const patched = isRead || !list ? undefined : patchedList(list, changed);
      if (patched) this.queries.setQueryData(queryKey, patched);
      else this.reread([key]);
    }
  }
}
