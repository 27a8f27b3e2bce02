import { termOf } from '@waybill/roles';
import type { Applied } from '@waybill/state';
import { expect, it } from 'vitest';
import { NodesHolder } from './nodes-holder.js';

it('ND-73, ND-78, DR-1: heartbeats, missing evaluations and drains begin and end with the term, and follow the log', () => {
  const calls: string[] = [];
  const part = (name: string): never =>
    ({
      start: (term: unknown) => void calls.push(`${name} starts ${JSON.stringify(term)}`),
      applied: ({ index }: Applied) => void calls.push(`${name} at ${index}`),
      stop: () => void calls.push(`${name} stops`),
      stats: () => ({ [name]: 1 }),
    }) as never;
  const holder = new NodesHolder(part('heartbeats'), part('evaluations'), part('drainer'));
  const term = termOf('nodes', 7);
  holder.start(term);
  holder.applied({ index: 3 } as Applied);
  holder.stop();
  expect(calls).toEqual([
    `heartbeats starts ${JSON.stringify(term)}`,
    'evaluations starts undefined',
    'drainer starts {"role":"nodes","epoch":7}',
    'heartbeats at 3',
    'evaluations at 3',
    'drainer at 3',
    'heartbeats stops',
    'evaluations stops',
    'drainer stops',
  ]);
  expect(holder.stats()).toEqual({ heartbeats: 1, evaluations: 1, drainer: 1 });
});
