/** The store of leases: a NATS KV bucket (kv-lease-store.ts), or a simulation. */
export interface LeaseStore {
  /**
   * Takes the lease if it is free. It expires `ttlMs` after the store has received this.
   * @returns its revision, undefined if another contender holds it
   * @throws if the outcome is unknown
   */
  acquire(role: string, holder: string, ttlMs: number): Promise<number | undefined>;
  /**
   * Extends the lease to `ttlMs` from now.
   * @returns the new revision, undefined if the lease is lost
   * @throws if the outcome is unknown: the lease may or may not be extended
   */
  renew(role: string, holder: string, ttlMs: number, revision: number): Promise<number | undefined>;
  /** Releases the lease, if it still has this revision. */
  release(role: string, revision: number): Promise<void>;
  /** Calls `onFree` soon after the lease expired or was released; it may miss a case. @returns unsubscribe */
  watch(role: string, onFree: () => void): () => void;
}
