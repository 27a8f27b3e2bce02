import type { MountPlaces } from '@waybill/agent';

/** What is mounted on one machine, and the directories made for it. Gone with the power, unlike the disk. */
export class MountTable {
  /** Provider's volume by the place it is mounted at. */
  private readonly mounts = new Map<string, string>();
  private readonly directories = new Set<string>();

  readonly places: MountPlaces = {
    isMounted: async (place) => this.mounts.has(place),
    exists: async (place) => this.mounts.has(place) || this.directories.has(place),
    make: async (directory) => void this.directories.add(directory),
    remove: async (directory) => {
      if (this.mounts.has(directory)) throw new Error(`${directory} is busy`);
      this.directories.delete(directory);
    },
    removeSocket: async () => {},
    removeEmpty: async () => {},
  };

  mount(place: string, volumeId: string): void {
    this.mounts.set(place, volumeId);
  }

  unmount(place: string): void {
    this.mounts.delete(place);
    this.directories.add(place);
  }

  /** Where a volume is mounted. */
  placesOf(volumeId: string): string[] {
    return [...this.mounts].filter(([, mounted]) => mounted === volumeId).map(([place]) => place);
  }
}
