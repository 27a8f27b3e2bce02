/**
 * Which allocations use a staged volume (VL-241): it may be unstaged only when none does. The key is all that the place
 * of its staging depends on, so that it can be told again from what is on disk (VL-242). Each use says of which of the
 * provider's disks it is: a volume may be registered anew under its name (VL-311). Memory: one entry per use.
 */
export class VolumeUses {
  /** By key, the disk of each allocation. */
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

  /** A use of something else than this disk; undefined: there is none. */
  otherDisk(key: string, disk: string): { readonly allocId: string; readonly disk: string } | undefined {
    const others = [...(this.users.get(key) ?? [])].filter(([, used]) => used !== disk);
    return others.map(([allocId, used]) => ({ allocId, disk: used }))[0];
  }
}
