import { describe, expect, it } from 'vitest';
import { settle } from './fake-time.js';
import { Slots } from './slots.js';

describe('Slots', () => {
  const working = () => {
    const slots = new Slots(2);
    const begun: string[] = [];
    const ends = new Map<string, (error?: Error) => void>();
    const work = (name: string): Promise<string> =>
      slots.use(() => {
        begun.push(name);
        return new Promise((resolve, reject) => ends.set(name, (error) => (error ? reject(error) : resolve(name))));
      });
    return { begun, ends, work };
  };

  it('runs two at once, and the others in the order in which they came', async () => {
    const { begun, ends, work } = working();
    const all = ['a', 'b', 'c', 'd'].map(work);
    await settle();
    expect(begun).toEqual(['a', 'b']);
    ends.get('b')!();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
    ends.get('a')!();
    await settle();
    for (const name of ['c', 'd']) ends.get(name)!();
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('frees the slot of work that failed, and again when nothing waits', async () => {
    const { begun, ends, work } = working();
    const failing = [work('a'), work('b')];
    await settle();
    for (const name of ['a', 'b']) ends.get(name)!(new Error(name));
    expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    void work('c');
    void work('d');
    void work('e');
    await settle();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });
});
