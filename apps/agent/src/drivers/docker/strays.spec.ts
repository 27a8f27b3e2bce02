import { beforeEach, expect, it } from 'vitest';
import { TASK_LABEL } from './container-options.js';
import { STRAY_PERIOD_MS, type StrayEngine, Strays } from './strays.js';

let nowMs = 0;
let known: Set<string>;
let containers: Map<string, { task: string; createdS: number }>;
let strays: Strays;

/** An engine with only the methods that the search uses. */
const engine = {
  listContainers: () =>
    Promise.resolve(
      [...containers].map(([Id, { task, createdS }]) => ({
        Id,
        Names: [`/${Id}`],
        Labels: { [TASK_LABEL]: task },
        Created: createdS,
      })),
    ),
  getContainer: (id: string) => ({ remove: () => Promise.resolve(containers.delete(id)) }),
} as unknown as StrayEngine;

const look = (): Promise<string[]> => {
  nowMs += STRAY_PERIOD_MS;
  return strays.remove(engine);
};

beforeEach(() => {
  nowMs = 0;
  known = new Set();
  containers = new Map();
  strays = new Strays('agent', (task) => known.has(task), { nowMs: () => nowMs });
});

it('AG-440: a container that is nobody’s for a whole period is removed, whatever the time of day it was made at', async () => {
  for (const [id, createdS] of Object.entries({ past: 1, now: Date.now() / 1000, future: Date.now() / 1000 + 86_400 }))
    containers.set(id, { task: id, createdS });
  expect(await look()).toEqual([]);
  expect(await look()).toEqual(['/past', '/now', '/future']);
});

it('AG-440: one whose start is under way at the first look, and known at the second, stays', async () => {
  containers.set('web', { task: 'web', createdS: 1 });
  expect(await look()).toEqual([]);
  known.add('web');
  expect(await look()).toEqual([]);
  known.delete('web');
  expect(await look()).toEqual([]);
  expect(containers.size).toBe(1);
  expect(await look()).toEqual(['/web']);
});

it('AG-440: between two looks nothing is asked', async () => {
  containers.set('web', { task: 'web', createdS: 1 });
  await look();
  nowMs += STRAY_PERIOD_MS - 1;
  expect(await strays.remove(engine)).toEqual([]);
  nowMs += 1;
  expect(await strays.remove(engine)).toEqual(['/web']);
});
