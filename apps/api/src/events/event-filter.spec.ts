import { StoredFrame } from '@waybill/projection';
import { describe, expect, it } from 'vitest';
import { EventFilter, parseTopics } from './event-filter.js';

const event = { topic: 'Allocation', namespace: 'default', keys: ['a1', 'web', ''] };
const takes = (topics: string[], namespace = 'default', e = event) =>
  new EventFilter(parseTopics(topics), namespace).matches(e);

describe('EventFilter', () => {
  it('API-403, API-404, EV-22: a topic, a topic with key, any topic with key, and nothing at all', () => {
    expect(takes(['Allocation'])).toBe(true);
    expect(takes(['Allocation:a1'])).toBe(true);
    expect(takes(['*:a1'])).toBe(true);
    expect(takes([])).toBe(true);
    expect(takes(['Node'])).toBe(false);
    expect(takes(['Allocation:a2'])).toBe(false);
  });

  it('API-403, EV-22: keys of one topic given several times are a union; a second colon is refused', () => {
    expect(takes(['Allocation:x', 'Allocation:a1'])).toBe(true);
    expect(() => parseTopics(['Job:a:b'])).toThrow(
      'Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: Job:a:b',
    );
  });

  it('EV-31: a star among other keys takes everything of the topic', () => {
    expect(takes(['Allocation:x', 'Allocation:*'])).toBe(true);
  });

  it('EV-33: an empty filter key matches an empty key only', () => {
    expect(takes(['Allocation:'])).toBe(true);
    expect(takes(['Allocation:'], 'default', { ...event, keys: ['a1', 'web'] })).toBe(false);
  });

  it('EV-34: filtering by job', () => {
    expect(takes(['Allocation:web'])).toBe(true);
    expect(takes(['Allocation:web2'])).toBe(false);
  });

  it('API-404, EV-82: another namespace is not delivered, an object without one is', () => {
    expect(takes([], 'foo')).toBe(false);
    expect(takes([], '*')).toBe(true);
    expect(takes([], 'foo', { ...event, namespace: '' })).toBe(true);
  });

  it('EV-26: what is wanted whole is the same bytes for everyone, else a line has only what matches, or there is none', () => {
    const [web, db] = ['web', 'db'].map((Key) => ({ Topic: 'Job', Type: 'JobRegistered', Key, Namespace: 'default' }));
    const about = JSON.stringify([web, db].map((e) => [e?.Topic, e?.Namespace, e?.Key]));
    const frame = new StoredFrame(7, 3, Buffer.from(`${JSON.stringify({ Index: 7, Events: [web, db] })}\n`), about);
    const line = (topic: string) => new EventFilter(parseTopics([topic]), 'default').lineOf(frame);
    expect(line('Job')).toBe(frame.line);
    expect(line('*')).toBe(frame.line);
    expect(line('Job:db')).toBe(`${JSON.stringify({ Index: 7, Events: [db] })}\n`);
    expect(line('Job:other')).toBeUndefined();
  });
});
