import { FakeTime } from '@waybill/model';
import { expect, it } from 'vitest';
import { TaskStatsWatch } from './task-stats-watch.js';

it.each([
  ['is cut off', Uint8Array.of(0x0a, 0x7f, 0x01)],
  ['has no report', new Uint8Array()],
])('PG-64: an answer that %s is no report, and no error', async (_, answer) => {
  const listenToStats = (_task: string, _ms: number, take: (answer: Uint8Array) => void): Promise<void> => {
    take(answer);
    return new Promise(() => {});
  };
  const watch = new TaskStatsWatch('t', async () => ({ listenToStats }), new FakeTime());
  expect(await watch.usage()).toBeUndefined();
  watch.stop();
});
