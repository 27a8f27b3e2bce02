import { decodeTxn, encodeTxn, subjectOf } from '@waybill/journal';
import { type LogMark, markOf, type Txn, type TxnDraft } from '@waybill/state';
import type { Simulator } from '../kernel/simulator.js';
import { frozen } from './frozen.js';

/** JetStream's duplicate window as the streams are configured, milliseconds. */
export const DUPLICATE_WINDOW_MS = 120_000;

/** A message as it lies in the stream. */
export interface StoredTxn {
  readonly index: number;
  readonly subject: string;
  readonly requestId: string;
  readonly headers: string;
  readonly body: string;
  /** As every reader decodes it; all share this one, which nobody can change. */
  readonly txn: Txn;
  /** True time. */
  readonly storedAtMs: number;
}

/** A message on its way to the stream. */
export type TxnMessage = Omit<StoredTxn, 'index' | 'txn' | 'storedAtMs'>;

export type StreamAnswer =
  | { readonly kind: 'stored'; readonly index: number; readonly duplicate: boolean }
  | { readonly kind: 'wrong-sequence'; readonly expected: number; readonly actual: number };

export function messageOf(draft: TxnDraft): TxnMessage {
  const { headers, body } = encodeTxn(draft);
  return { subject: subjectOf(draft), requestId: draft.requestId, headers, body: body.toString('utf8') };
}

/**
 * The stream `TXN` as JetStream keeps it: sequences without a gap, a condition on the subject's last sequence checked
 * before the id, a second copy of an id within the duplicate window answered with the first one's sequence.
 */
export class TxnStream {
  readonly stored: StoredTxn[] = [];
  private readonly lastOfSubject = new Map<string, number>();
  private readonly ids = new Map<string, StoredTxn>();
  private readonly listeners = new Set<(stored: StoredTxn) => void>();
  private readonly lossListeners = new Set<(lost: readonly StoredTxn[]) => void>();
  /** Copies that the stream takes for new although it has them: its memory of ids was lost with a restart. */
  forgetsIds = false;

  constructor(private readonly simulator: Simulator) {}

  get last(): number {
    return this.stored.length;
  }

  lastSequence(subject: string): number {
    return this.lastOfSubject.get(subject) ?? 0;
  }

  /** The first message on a subject behind an index. */
  firstAfter(subject: string, index: number): StoredTxn | undefined {
    return this.stored.slice(index).find((one) => one.subject === subject);
  }

  /** Identifies the transaction at an index; undefined: there is none. */
  markAt(index: number): LogMark | undefined {
    const stored = this.stored[index - 1];
    return stored && markOf(stored.txn);
  }

  /** Appends only if the stream ends at this index. */
  appendAt(message: TxnMessage, last: number): StreamAnswer {
    if (last !== this.last) return { kind: 'wrong-sequence', expected: last, actual: this.last };
    return this.append(message, undefined);
  }

  /** Power was cut: what was stored since a moment of true time was not synced, and is gone; its indexes come again. */
  loseSince(ms: number): void {
    let kept = this.last;
    while (kept > 1 && (this.stored[kept - 1]?.storedAtMs ?? 0) > ms) kept--;
    const lost = this.stored.splice(kept);
    for (const { requestId } of lost) this.ids.delete(requestId);
    this.lastOfSubject.clear();
    for (const { subject, index } of this.stored) this.lastOfSubject.set(subject, index);
    this.simulator.history.add(`lost ${lost.length}\n`);
    if (lost.length > 0) for (const listener of this.lossListeners) listener(lost);
  }

  append(message: TxnMessage, expectedLast: number | undefined): StreamAnswer {
    const { subject, requestId } = message;
    const actual = this.lastSequence(subject);
    if (expectedLast !== undefined && expectedLast !== actual)
      return { kind: 'wrong-sequence', expected: expectedLast, actual };
    const first = this.ids.get(requestId);
    if (first && !this.forgetsIds && this.simulator.nowMs - first.storedAtMs < DUPLICATE_WINDOW_MS)
      return { kind: 'stored', index: first.index, duplicate: true };
    const index = this.last + 1;
    const txn = frozen(decodeTxn(index, message.headers, message.body));
    const stored: StoredTxn = { ...message, index, txn, storedAtMs: this.simulator.nowMs };
    this.stored.push(stored);
    this.ids.set(requestId, stored);
    this.lastOfSubject.set(subject, stored.index);
    this.simulator.history.add(`#${stored.index} ${stored.headers}${stored.body}\n`);
    for (const listener of this.listeners) listener(stored);
    return { kind: 'stored', index: stored.index, duplicate: false };
  }

  /** Called right when the stream has lost its end. */
  onLost(listener: (lost: readonly StoredTxn[]) => void): void {
    this.lossListeners.add(listener);
  }

  /** Called right when a message is stored. Returns the way to stop. */
  onStored(listener: (stored: StoredTxn) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
