/**
 * VolumeUses counts which allocations use a staged volume (VL-241). It may be unstaged only when none does. The key
 * contains all that the staging path depends on, so it can be computed again from the data on disk (VL-242). Each use
 * names the provider's disk, because another disk may be registered under the volume's name (VL-311). Memory: one entry
 * per use.
 */
export class VolumeUses {
  /** The disk of each allocation, by key. */
  private readonly users = new Map<string, Map<string, string>>();

  add(key: string, allocId: string, disk: string): void {
    const users = this.users.get(key) ?? new Map<string, string>();
    users.set(allocId, disk);
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

  /** Returns a use with another disk, or undefined if there is none. */
  otherDisk(key: string, disk: string): { readonly allocId: string; readonly disk: string } | undefined {
    const others = [...(this.users.get(key) ?? [])].filter(([, used]) => used !== disk);
    return others.map(([allocId, used]) => ({ allocId, disk: used }))[0];
  }
}
