import type { SeededRandom } from '../kernel/seeded-random.js';
import { SLOWEST_MS, type Wire } from './wire.js';

/** Id of the one plugin of a simulated cluster. */
export const PLUGIN_ID = 'disks';
/** What a plugin takes for a call, milliseconds. */
const USUAL_CALL_MS = 400;

/** Called when a disk is taken from a machine that had it. */
export type DetachListener = (volumeId: string, machine: string) => void;

/** The provider of disks: which machine has which. Answers as its plugins hear them: late, not at all, or untrue. */
export class StorageProvider {
  private readonly attached = new Map<string, Set<string>>();
  private readonly listeners = new Set<DetachListener>();

  constructor(
    private readonly wire: Wire,
    private readonly random: SeededRandom,
  ) {}

  onDetached(listener: DetachListener): void {
    this.listeners.add(listener);
  }

  /** Once more is a success. */
  attach(volumeId: string, machine: string): void {
    const machines = this.attached.get(volumeId) ?? new Set();
    this.attached.set(volumeId, machines);
    machines.add(machine);
  }

  /** Of what is not attached a success. */
  detach(volumeId: string, machine: string): void {
    if (this.attached.get(volumeId)?.delete(machine))
      for (const listener of this.listeners) listener(volumeId, machine);
  }

  isAttached(volumeId: string, machine: string): boolean {
    return this.attached.get(volumeId)?.has(machine) === true;
  }

  /** Milliseconds until it has done what it is asked. */
  callMs(): number {
    const { random, wire } = this;
    return wire.happens('pluginSlow')
      ? random.between(USUAL_CALL_MS, 5 * SLOWEST_MS)
      : random.between(1, USUAL_CALL_MS);
  }

  /** It says that it failed: before it did anything, or after it had done it all. */
  fails(): boolean {
    return this.wire.happens('pluginError');
  }
}
