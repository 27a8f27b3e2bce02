import type { ReplicatedState } from '@waybill/replica';

/** Another process holds the broker's role now. What was asked of its predecessor has an unknown outcome. */
export class HolderChangedError extends Error {
  override readonly name = 'HolderChangedError';
  constructor(readonly epoch: number) {
    super(`the broker's role has a new holder, epoch ${epoch}`);
  }
}

/**
 * The broker's terms of office as this process sees them, so that nobody waits for a holder that is gone: a broker that
 * was killed never answers what it had taken in, and its successor knows none of its tokens.
 *
 * Modes: following the log → closed. Each accepted `LeaseAcquired` of the broker's role ends the current term. The own
 * copy of the state may lag behind the broker: a term that ends here can be the one before that which gave an answer.
 * Cost: one comparison for each transaction applied.
 */
export class BrokerTerms {
  /** Follows the log no longer; the current term never ends. */
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

  /** Aborted, with a HolderChangedError, as soon as somebody takes over. */
  get current(): AbortSignal {
    return this.ending.signal;
  }
}

/**
 * An answer that is worth waiting for during one term only.
 * @param onLate gets what comes after the term has ended
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
    if (term.aborted) void answer.then(onLate, () => {});
    throw error;
  } finally {
    term.removeEventListener('abort', ended);
  }
}
