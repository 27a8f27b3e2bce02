import { describe, expect, it } from 'vitest';
import { readLine, splitLines } from './change.js';

describe('lines of the event stream', () => {
  it('EV-28: a heartbeat has no changes and no index', () => {
    expect(readLine('{}')).toEqual({ index: 0, changes: [] });
  });

  it('EV-26: one line tells all changes of an index', () => {
    const event = (Topic: string, Key: string, FilterKeys: string[] | null) => ({
      Topic,
      Key,
      FilterKeys,
      Type: 'JobRegistered',
      Namespace: 'default',
      Index: 7,
      Payload: {},
    });
    const line = JSON.stringify({
      Index: 7,
      Events: [event('Job', 'web', null), event('Evaluation', 'e1', ['web', ''])],
    });
    const { index, changes } = readLine(line);
    expect(index).toBe(7);
    expect(changes).toMatchObject([
      { topic: 'Job', key: 'web', filterKeys: [], index: 7 },
      { topic: 'Evaluation', key: 'e1', filterKeys: ['web', ''] },
    ]);
  });

  it('a line that came in pieces is whole once its end is there', () => {
    const first = splitLines('', '{}\n{"Ind');
    expect(first).toEqual({ lines: ['{}'], rest: '{"Ind' });
    expect(splitLines(first.rest, 'ex":1}\n\n')).toEqual({ lines: ['{"Index":1}'], rest: '' });
  });
});
