import { expect, it, vi } from 'vitest';
import { unlessAborted } from './unless-aborted.js';

const abandoned = (): Error => new Error('nobody waits');
const never = new Promise<never>(() => {});

it('has the result and the error of the work, and lets the signal go', async () => {
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, 'removeEventListener');
  expect(await unlessAborted(Promise.resolve(5), signal, abandoned)).toBe(5);
  await expect(unlessAborted(Promise.reject(new Error('failed')), signal, abandoned)).rejects.toThrow('failed');
  expect(removed).toHaveBeenCalledTimes(2);
  expect(await unlessAborted(Promise.resolve(6), undefined, abandoned)).toBe(6);
});

it('ends with the abort, whether it comes later or came before', async () => {
  const end = new AbortController();
  const waiting = unlessAborted(never, end.signal, abandoned);
  end.abort();
  await expect(waiting).rejects.toThrow('nobody waits');
  await expect(unlessAborted(never, end.signal, abandoned)).rejects.toThrow('nobody waits');
});
