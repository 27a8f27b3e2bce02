import type { ReplicatedState } from '@waybill/replica';

/** Another process holds the role `broker` now. The outcome of requests to its predecessor is unknown. */
export class HolderChangedError extends Error {
  override readonly name = 'HolderChangedError';
  constructor(readonly epoch: number) {
    super(`the broker's role has a new holder, epoch ${epoch}`);
  }
}

/**
 * The terms of the role `broker` as this process sees them, so that no request waits for a holder that is gone: a
 * killed broker does not answer, and its successor knows none of its tokens.
 *
 * Modes: following the log → closed. Each accepted `LeaseAcquired` of the role ends the current term. This copy of the
 * state may lag behind the broker: the term that ends here may be older than the one that gave an answer. Cost: one
 * comparison for each applied transaction.
 */
export class BrokerTerms {
  /** Stops following the log; the current term then never ends. */
  readonly close: () => void;
  private ending = new AbortController();

  constructor(state: Pick<ReplicatedState, 'onApplied'>) {
    this.close = state.onApplied(({ txn, verdict }) => {
      if (txn.type !== 'LeaseAcquired' || txn.payload.Role !== 'broker' || verdict.kind !== 'accepted') return;
      const ended = this.ending;
      this.ending = new AbortController();
      ended.abort(new HolderChangedError(txn.payload.Epoch));
    });
  }

  /** Aborted with a HolderChangedError as soon as another holder begins its term. */
  get current(): AbortSignal {
    return this.ending.signal;
  }
}

/**
 * Waits for an answer during one term only.
 * @param onLate gets an answer that comes after the term has ended
 * @throws HolderChangedError when the term ends first
 */
export async function within<T>(
  term: AbortSignal,
  answer: Promise<T>,
  onLate: (answer: T) => void = () => {},
): Promise<T> {
  let ended = (): void => {};
  const end = new Promise<never>((_resolve, reject) => {
    ended = () => reject(term.reason instanceof Error ? term.reason : new Error('the term is over'));
  });
  if (term.aborted) ended();
  term.addEventListener('abort', ended);
  try {
    return await Promise.race([answer, end]);
  } catch (error) {
    // An answer that failed in the term never comes late.
    void answer.then(onLate, () => {});
    throw error;
  } finally {
    term.removeEventListener('abort', ended);
  }
}
