/** Where leases are kept: a NATS KV bucket (kv-lease-store.ts), or a simulation. */
export interface LeaseStore {
  /**
   * Takes the lease if nobody has it. It ends by itself `ttlMs` after the store has received this.
   * @returns its revision, or undefined if somebody has it
   * @throws if the store cannot tell
   */
  acquire(role: string, holder: string, ttlMs: number): Promise<number | undefined>;
  /**
   * Prolongs it by `ttlMs` from now.
   * @returns the new revision, or undefined if it is not ours any more
   * @throws if the store cannot tell: it may or may not be prolonged
   */
  renew(role: string, holder: string, ttlMs: number, revision: number): Promise<number | undefined>;
  /** Gives it back, if it is still the one of `revision`. */
  release(role: string, revision: number): Promise<void>;
  /** Calls `onFree` soon after the lease expired or was released; it may miss one. Returns the way to stop. */
  watch(role: string, onFree: () => void): () => void;
}
