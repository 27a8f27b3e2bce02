import type { Applied, Fence, Role } from '@waybill/state';

/** The time for which a process holds a role. */
export interface Term {
  readonly role: Role;
  readonly epoch: number;
  /** Goes into everything that the holder writes (ST-15). */
  readonly fence: Fence;
  /** Name of the process that holds the role, as in `LeaseAcquired`. */
  readonly holder: string;
  /** Time from holding the lease to having applied `LeaseAcquired` in this process' copy of the state. */
  readonly barrierMs: number;
  /**
   * Whether this is the role's first term since the state was restored: the state may describe the cluster at the time
   * of the archive.
   */
  readonly followsRestore: boolean;
  /**
   * Whether no successor can be acting. Check it before every effect outside the log; inside the log the fence decides,
   * however late a write arrives.
   */
  isCurrent(): boolean;
}

/** A term of this epoch. Other fields default to those of a term that began at once, and that follows no restore. */
export const termOf = (
  role: Role,
  epoch: number,
  over: Partial<Omit<Term, 'role' | 'epoch' | 'fence'>> = {},
): Term => ({
  role,
  epoch,
  fence: { role, epoch },
  holder: '',
  barrierMs: 0,
  followsRestore: false,
  isCurrent: () => true,
  ...over,
});

/**
 * A part of the control plane that runs in one process at a time. Every singleton has these four methods, which
 * LeaseRunner calls: `start`, then `applied` any number of times, then `stop`; then perhaps `start` again.
 */
export interface Singleton {
  readonly role: Role;
  /**
   * Begins a term. This process' copy of the state has just applied the term's `LeaseAcquired`, and with it every
   * transaction of the predecessor. Rebuild everything in memory from the tables, synchronously, before the first
   * await: calls of `applied` follow at once. If it throws, the lease is released and requested again later.
   */
  start(term: Term): void | Promise<void>;
  /**
   * Called after every transaction that the copy of the state applies during the term, in order, synchronously (ST-11).
   */
  applied(applied: Applied): void;
  /** Ends the term, or prepares the end of the process: drop everything in memory, begin no further effect (ST-15). */
  stop(): void | Promise<void>;
  /** Sizes and counters, for metrics. */
  stats(): Record<string, number>;
}
