import { settle } from '@waybill/model';
import { expect, it } from 'vitest';
import { PluginTurns } from './plugin-turns.js';

/** Calls that end when the test says so. */
function calls() {
  const turns = new PluginTurns();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const outcomes: string[] = [];
  const call = (pluginId: string, name: string): void => {
    const run = (): Promise<void> => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    };
    void turns.runInTurn(pluginId, run).then(
      () => outcomes.push(`${name} ended`),
      (error: Error) => outcomes.push(`${name}: ${error.name}`),
    );
  };
  return { turns, begun, outcomes, call, end: (name: string) => ends.get(name)?.() };
}

it('VL-129: calls of one plugin are made one at a time, those of two plugins side by side', async () => {
  const { begun, outcomes, call, end } = calls();
  call('a', 'first');
  call('a', 'second');
  call('b', 'other');
  await settle();
  expect(begun).toEqual(['first', 'other']);
  end('first');
  await settle();
  expect([begun, outcomes]).toEqual([['first', 'other', 'second'], ['first ended']]);
});

it('VL-131: at the end of the term a call in progress ends, a waiting one fails at once, and none begins', async () => {
  const { turns, begun, outcomes, call, end } = calls();
  call('a', 'first');
  call('a', 'second');
  await settle();
  turns.close();
  call('a', 'third');
  await settle();
  expect(outcomes).toEqual(['second: NotHolderError', 'third: NotHolderError']);
  end('first');
  await settle();
  expect([begun, outcomes.at(-1)]).toEqual([['first'], 'first ended']);
});
