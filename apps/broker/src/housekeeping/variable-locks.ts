import {
  type CancelTimer,
  MAX_LOCK_DELAY_NS,
  NS_PER_MS,
  Refusal,
  type Timers,
  type Variable,
  type VariableLock,
} from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { type Change, namespacedKey, NO_LOCK, NO_VARIABLE, SINGLETON_KEY, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** TTLs without renewal after which a holder counts as silent: one for the renewal, one as grace (OP-202). */
export const GRACE_FACTOR = 2;
/** Pause after a release that could not be written; it doubles at each attempt, up to the longest. */
export const RELEASE_RETRY_MS = 1_000;
export const LONGEST_RELEASE_RETRY_MS = 60_000;

export interface VariableLocksDeps {
  readonly tables: Pick<Tables, 'variables'>;
  readonly writer: Pick<HolderWriter, 'write'>;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** A lock that has a holder, or still counts as held. */
interface Held {
  readonly id: string;
  readonly acquireIndex: number;
  /** Its holder has fallen silent: the lock counts as held until its delay is over and the release is written. */
  isSilent: boolean;
  cancel: CancelTimer;
}

/**
 * Releases the locks of variables whose holders no longer renew them (OP-202). Renewals are kept in memory and not written.
 *
 * Modes: running (`start`) → stopped (`stop`), for one term. A lock is held → delayed (GRACE_FACTOR TTLs without a renewal) →
 * ending (its delay is over, and the release is retried until it is written) → forgotten. Renewing or acquiring starts the
 * time anew; a renewal is refused once the delay has begun. A term begins with the full time for every lock, because only the
 * predecessor knew the renewals. A release names the acquisition that it ends, so that it cannot end a newer one.
 * Memory: a record and a timer for each lock. Cost: O(locks) at the start.
 */
export class VariableLocks {
  private readonly held = new Map<string, Held>();
  private running = false;

  constructor(private readonly deps: VariableLocksDeps) {}

  start(): void {
    this.running = true;
    for (const row of this.deps.tables.variables.by('locked', SINGLETON_KEY)) this.track(row);
  }

  stop(): void {
    this.running = false;
    for (const { cancel } of this.held.values()) cancel();
    this.held.clear();
  }

  /** Locks that count as held. */
  get size(): number {
    return this.held.size;
  }

  /** Follows the log: a lock that was acquired, acquired again, or released. */
  changed(change: Change): void {
    if (change.table !== 'variables' || !this.running) return;
    const known = this.held.get(change.key);
    const lock = change.after?.Lock;
    if (known && lock?.ID === known.id && lock.AcquireIndex === known.acquireIndex) return;
    known?.cancel();
    this.held.delete(change.key);
    if (change.after) this.track(change.after);
  }

  /**
   * Renews a lock: starts its time anew. Nothing is written: the variable stays as it is.
   * @throws Refusal not-found, conflict (OP-201, OP-202)
   */
  renew(namespace: string, path: string, lockId: string): Variable {
    const row = this.deps.tables.variables.get(namespacedKey(namespace, path));
    if (!row) throw new Refusal('not-found', NO_VARIABLE);
    if (!row.Lock) throw new Refusal('conflict', NO_LOCK);
    const held = this.held.get(namespacedKey(namespace, path));
    if (row.Lock.ID !== lockId || !held || held.isSilent)
      throw new Refusal('conflict', 'attempting to modify locked variable');
    held.cancel();
    this.startTimer(row, row.Lock, held);
    return row;
  }

  private track(row: Variable): void {
    if (!row.Lock) return;
    const held: Held = { id: row.Lock.ID, acquireIndex: row.Lock.AcquireIndex, isSilent: false, cancel: () => {} };
    this.held.set(namespacedKey(row.Namespace, row.Path), held);
    this.startTimer(row, row.Lock, held);
  }

  /** Times the lock by the TTL and the delay that it was acquired with. */
  private startTimer({ Namespace, Path }: Variable, { TTL, LockDelay }: VariableLock, held: Held): void {
    const delayMs = Math.min(LockDelay, MAX_LOCK_DELAY_NS) / NS_PER_MS;
    held.cancel = this.deps.timers.after((GRACE_FACTOR * TTL) / NS_PER_MS, () => {
      held.isSilent = true;
      held.cancel = this.deps.timers.after(delayMs, () => void this.release(Namespace, Path, held, RELEASE_RETRY_MS));
    });
  }

  private async release(namespace: string, Path: string, held: Held, pauseMs: number): Promise<void> {
    const { writer, timers, logger } = this.deps;
    try {
      const release = { Op: 'lock-release', Path, LockID: held.id, AcquireIndex: held.acquireIndex } as const;
      await writer.write('VarApplyState', release, namespace);
    } catch (error) {
      // A refusal means that the lock has ended in another way.
      if (!this.isCurrent(namespace, Path, held) || hasEnded(error)) return;
      logger.warn('the lock of a variable has run out and could not be released', { error, namespace, path: Path });
      const next = Math.min(2 * pauseMs, LONGEST_RELEASE_RETRY_MS);
      held.cancel = timers.after(pauseMs, () => void this.release(namespace, Path, held, next));
    }
  }

  private isCurrent(namespace: string, path: string, held: Held): boolean {
    return this.held.get(namespacedKey(namespace, path)) === held;
  }
}

/** Whether the error says that the variable or its lock is gone. */
const hasEnded = (error: unknown): boolean =>
  error instanceof Refusal && (error.code === 'not-found' || error.code === 'conflict');
