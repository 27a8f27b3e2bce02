import { expect, it } from 'vitest';
import type { Change } from '../../live/change.js';
import { filteredEvents, merged, MOST_EVENTS } from './event-list.js';

const event = (index: number, key: string, of: Partial<Change> = {}): Change => ({
  index,
  key,
  topic: 'Job',
  type: 'JobRegistered',
  namespace: 'default',
  filterKeys: [],
  payload: {},
  ...of,
});

it('puts replayed and live events together, each once, the newest first, and drops the oldest', () => {
  const live = [event(7, 'web'), event(6, 'api')];
  expect(merged(live, [event(5, 'db'), event(6, 'api')]).map(({ index }) => index)).toEqual([7, 6, 5]);
  const many = Array.from({ length: MOST_EVENTS }, (_, at) => event(at + 10, 'web'));
  expect(merged(live, many)).toHaveLength(MOST_EVENTS);
  expect(merged(live, many).at(-1)?.index).toBe(10);
});

it('finds events by topic, key, type, and the job that they are about', () => {
  const events = [
    event(1, 'web'),
    event(2, 'a1', { topic: 'Allocation', type: 'PlanResult', filterKeys: ['web', ''] }),
  ];
  const found = (filter: object) => filteredEvents(events, filter).map(({ index }) => index);
  expect(found({})).toEqual([1, 2]);
  expect(found({ topic: 'Allocation' })).toEqual([2]);
  expect(found({ search: 'WEB' })).toEqual([1, 2]);
  expect(found({ search: 'planresult' })).toEqual([2]);
});
