import type { Applied, Fence, Role } from '@waybill/state';

/** The time for which a process holds a role. */
export interface Term {
  readonly role: Role;
  readonly epoch: number;
  /** To be put on everything that is written as the holder (ST-15). */
  readonly fence: Fence;
  /** How long the own copy took to get there: from holding the lease to having applied `LeaseAcquired`. */
  readonly barrierMs: number;
  /** No other term of the role began since the state was restored: the state may describe the world of the archive. */
  readonly followsRestore: boolean;
  /**
   * True as long as no successor can be acting. To be asked before every effect outside the log; inside the log the
   * fence decides, however late a write arrives.
   */
  isCurrent(): boolean;
}

/** A term of this epoch; whatever is not given is that of a term which began at once, and which no restore precedes. */
export const termOf = (
  role: Role,
  epoch: number,
  over: Partial<Omit<Term, 'role' | 'epoch' | 'fence'>> = {},
): Term => ({
  role,
  epoch,
  fence: { role, epoch },
  barrierMs: 0,
  followsRestore: false,
  isCurrent: () => true,
  ...over,
});

/**
 * A part of the control plane that one process does at a time. Every one has these four verbs; LeaseRunner calls them:
 * start, then applied any number of times, then stop; then perhaps start again.
 */
export interface Singleton {
  readonly role: Role;
  /**
   * The own copy of the state has just applied this term's `LeaseAcquired`: it has seen all that the predecessor got
   * accepted. Everything in memory is to be rebuilt from the tables, synchronously, before the first await: `applied`
   * follows at once. If it throws, the lease is given back and taken again later.
   */
  start(term: Term): void | Promise<void>;
  /** After every transaction that the own copy applies during the term, in order, synchronously (ST-11). */
  applied(applied: Applied): void;
  /** The term is over, or the process ends: drop everything in memory, begin no further effect (ST-15). */
  stop(): void | Promise<void>;
  /** Sizes and counters, for metrics. */
  stats(): Record<string, number>;
}
