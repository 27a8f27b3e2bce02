import { fixtures, type Applied, type TxnPayloads } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { BrokerTerms, HolderChangedError, within } from './broker-terms.js';

/** The terms of a log to which leases are written. */
function following() {
  const machine = fixtures.aMachine();
  let listener: ((applied: Applied) => void) | undefined;
  const terms = new BrokerTerms({
    onApplied: (next: (applied: Applied) => void) => {
      listener = next;
      return () => (listener = undefined);
    },
  } as never);
  const lease = (Role: TxnPayloads['LeaseAcquired']['Role'], Epoch: number) =>
    listener?.(fixtures.apply(machine, 'LeaseAcquired', { Role, Epoch, Holder: 'h' }));
  return { terms, lease };
}

describe('terms of the broker', () => {
  it('a new holder ends the current term and begins the next one', () => {
    const { terms, lease } = following();
    const first = terms.current;
    lease('broker', 1);
    expect(first.aborted).toBe(true);
    expect(first.reason).toBeInstanceOf(HolderChangedError);
    expect(first.reason).toMatchObject({ epoch: 1 });
    expect(terms.current.aborted).toBe(false);
  });

  it('another role, and a lease that is refused, end nothing', () => {
    const { terms, lease } = following();
    lease('broker', 3);
    const { current } = terms;
    lease('nodes', 1);
    lease('broker', 2);
    expect(current.aborted).toBe(false);
    terms.close();
    lease('broker', 4);
    expect(current.aborted).toBe(false);
  });
});

describe('an answer within a term', () => {
  it('is given, and an error is thrown, while the term lasts', async () => {
    const { signal } = new AbortController();
    expect(await within(signal, Promise.resolve(7))).toBe(7);
    await expect(within(signal, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('is not waited for once the term ends, and comes late', async () => {
    const term = new AbortController();
    const late: number[] = [];
    let answer: ((answered: number) => void) | undefined;
    const asked = within(term.signal, new Promise<number>((resolve) => (answer = resolve)), (n) => void late.push(n));
    term.abort(new HolderChangedError(5));
    await expect(asked).rejects.toThrow("the broker's role has a new holder, epoch 5");
    answer?.(9);
    await Promise.resolve();
    expect(late).toEqual([9]);
    const never = new Promise<number>(() => {});
    await expect(within(term.signal, never)).rejects.toBeInstanceOf(HolderChangedError);
    const plain = new AbortController();
    plain.abort('no error');
    await expect(within(plain.signal, never)).rejects.toThrow('the term is over');
  });

  it('is not late when it failed in the term', async () => {
    const late: number[] = [];
    const failed = within<number>(
      new AbortController().signal,
      Promise.reject(new Error('no')),
      (n) => void late.push(n),
    );
    await expect(failed).rejects.toThrow('no');
    expect(late).toEqual([]);
  });
});
