import { msFromNs, type Variable, type VariableLock } from '@waybill/model';
import type { Applied } from '@waybill/state';
import { itemsIn } from '../world/plain-keyring.js';
import type { LostEnds } from './lost-ends.js';
import type { ReferenceState } from './reference-state.js';
import { isRestore } from './restores.js';
import type { Report } from './violation.js';

/** The variable in which users count, each by a checked write of the next number. */
export const COUNTER = 'app/counter';
/** The variable whose lock users take. */
export const LOCKED = 'app/leader';

/** A lock that a user was told is theirs. */
export interface HeldLock {
  readonly id: string;
  /** Simulated ms: nobody else may have it before. */
  untilMs: number;
}

/**
 * No checked write of a variable is lost (OP-198), and a lock has one holder: who was told that it is theirs, or renewed, has it
 * for its TTL from the moment when they asked, whoever holds the broker's role by then (OP-200 to OP-202). A restore takes
 * back what was promised.
 */
export class Variables {
  /** Locks that users hold, as far as they know. */
  private held: HeldLock[] = [];
  /** Locks that users let go. The answer to a renewal from before may come later. */
  private readonly letGo = new Set<string>();

  constructor(
    private readonly reference: ReferenceState,
    private readonly lostEnds: LostEnds,
    private readonly nowMs: () => number,
    private readonly report: Report,
  ) {
    reference.onApplied((applied) => this.applied(applied));
    reference.onLost(() => (this.held = []));
  }

  get locks(): readonly HeldLock[] {
    return this.held;
  }

  /** A user was told that the number is written. @param askedMs when they asked */
  counted(number: number, index: number, askedMs: number): void {
    if (this.lostEnds.isGone(index, askedMs)) return;
    const [change] = this.writtenAt(index)?.changes ?? [];
    const written = change?.table === 'variables' ? numberIn(change.after) : undefined;
    if (written !== number)
      this.report('lost-update', `number ${number} was acknowledged at index ${index}: ${written}`);
  }

  /** A user was told that the lock is theirs, or still is. @param askedMs when they asked */
  holds(id: string, askedMs: number, ttlNs: number): void {
    if (this.letGo.has(id)) return;
    const untilMs = askedMs + msFromNs(ttlNs);
    const known = this.held.find((lock) => lock.id === id);
    if (known) known.untilMs = Math.max(known.untilMs, untilMs);
    else this.held.push({ id, untilMs });
  }

  /** A user lets go, whether they are told that it is done or not. */
  letsGo(id: string): void {
    this.letGo.add(id);
    this.held = this.held.filter((lock) => lock.id !== id);
  }

  /** The transaction that did it, where the one at the index is a second copy of it (ST-6). */
  private writtenAt(index: number): Applied | undefined {
    const { applied } = this.reference;
    const answered = applied[index - 1];
    if (answered?.verdict.kind !== 'noop') return answered;
    return applied.find(({ txn }) => txn.requestId === answered.txn.requestId);
  }

  private applied(applied: Applied): void {
    if (isRestore(applied)) {
      this.held = [];
      return;
    }
    for (const change of applied.changes) {
      if (change.table !== 'variables') continue;
      const { before, after } = change;
      if (after?.Path === COUNTER && numberIn(after) !== numberIn(before) + 1)
        this.report('lost-update', `at index ${applied.index}: ${numberIn(before)}, then ${numberIn(after)}`);
      if (after?.Lock) this.taken(applied.index, before?.Lock ?? null, after.Lock);
    }
  }

  private taken(index: number, before: VariableLock | null, { ID }: VariableLock): void {
    if (before?.ID === ID) return;
    const other = this.held.find(({ id, untilMs }) => id !== ID && untilMs > this.nowMs());
    if (before || other)
      this.report('lock-has-one-holder', `at index ${index} ${ID} takes what ${before?.ID ?? other?.id} holds`);
  }
}

const numberIn = (variable: Variable | undefined): number => (variable ? Number(itemsIn(variable.Data)['n']) : 0);
