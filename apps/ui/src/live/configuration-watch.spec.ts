import { expect, it } from 'vitest';
import { watchConfiguration } from './configuration-watch.js';

/** Answers in turn with these statuses and indexes, until there are no more. */
async function watched(script: readonly (readonly [status: number, index: number] | Error)[]) {
  const asked: string[] = [];
  const end = new AbortController();
  let changes = 0;
  const means = {
    nowMs: () => 0,
    wait: () => Promise.resolve(),
    fetch: async (url: string): Promise<Response> => {
      const next = script[asked.length];
      asked.push(new URL(url, 'http://a').searchParams.get('index') ?? '');
      if (next === undefined) end.abort();
      if (next === undefined || next instanceof Error) throw new Error('away');
      return new Response('{}', { status: next[0], headers: { 'X-Nomad-Index': String(next[1]) } });
    },
  };
  await watchConfiguration('', means, () => changes++, end.signal);
  return { asked, changes };
}

it('tells of a change, and not of an answer that came because the wait was over', async () => {
  const { asked, changes } = await watched([[200, 5], [200, 5], [200, 9], new Error('away'), [200, 9]]);
  expect(asked).toEqual(['0', '5', '5', '9', '9', '9']);
  expect(changes).toBe(1);
});

it('tells of a change that came while the server was away, and ends where it may not look', async () => {
  expect((await watched([[200, 5], new Error('away'), [500, 0], [200, 7]])).changes).toBe(1);
  expect((await watched([[403, 0]])).asked).toHaveLength(1);
});
