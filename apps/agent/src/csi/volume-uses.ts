/**
 * Which allocations use a staged volume (VL-241): it may be unstaged only when none does. The key is all that the place
 * of its staging depends on, so that it can be told again from what is on disk (VL-242). Memory: one entry per use.
 */
export class VolumeUses {
  private readonly users = new Map<string, Set<string>>();

  add(key: string, allocId: string): void {
    const users = this.users.get(key) ?? new Set();
    users.add(allocId);
    this.users.set(key, users);
  }

  remove(key: string, allocId: string): void {
    const users = this.users.get(key);
    users?.delete(allocId);
    if (users?.size === 0) this.users.delete(key);
  }

  isUsed(key: string): boolean {
    return this.users.has(key);
  }
}
