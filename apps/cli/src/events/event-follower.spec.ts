import { describe, expect, it } from 'vitest';
import type { StreamAnswer } from '../server/api-client.js';
import { AnswerFailure, ConnectionFailure } from '../server/api-failure.js';
import { EventFollower, type FollowOptions } from './event-follower.js';
import { eventRow } from './event-row.js';
import { Display } from '../terminal/display.js';

const line = (index: number) =>
  `{"Index":${index},"Events":[{"Topic":"Job","Type":"JobRegistered","Key":"web","Namespace":"default"}]}\n`;
const answer = (body: string, head: number, floor = 1): StreamAnswer => ({
  headers: { 'x-waybill-event-head': String(head), 'x-waybill-event-floor': String(floor) },
  body: (async function* () {
    yield Buffer.from(body);
  })(),
});

/** Plays these connections; after the last one the run is interrupted, as by Ctrl-C. */
async function follow(connections: (StreamAnswer | Error)[], options: Partial<FollowOptions> = {}) {
  const asked: string[] = [];
  const said: string[] = [];
  const slept: number[] = [];
  const indexes: number[] = [];
  const follower = new EventFollower(
    { start: 'now', strict: false, untilHead: false, ...options },
    {
      open: ({ index }) => {
        asked.push(index);
        const next = connections.shift() ?? new DOMException('over', 'AbortError');
        return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
      },
      sleep: (ms) => Promise.resolve(void slept.push(ms)),
      random: () => 0,
      note: (text) => said.push(text),
      warn: (text) => said.push(text),
    },
  );
  const ended = await (async () => {
    for await (const { Index } of follower.lines()) indexes.push(Index);
  })().then(
    () => 'end',
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  return { asked, said, slept, indexes, ended };
}

describe('following the event stream', () => {
  it('CL-1004: goes on behind the last complete line; nothing twice, nothing missed, an incomplete line dropped', async () => {
    const seen = await follow(
      [
        answer(`{}\n${line(5)}${line(7)}{"Index":9,"Ev`, 7),
        new ConnectionFailure('refused'),
        new AnswerFailure(503, ''),
        answer(`{}\n${line(7)}${line(9)}`, 9),
      ],
      { start: 5 },
    );
    expect(seen.indexes).toEqual([5, 7, 9]);
    expect(seen.asked).toEqual(['5', '8', '8', '8', '10']);
    expect(seen.slept).toEqual([1000, 2000, 4000, 1000]);
    expect(seen.said.filter((text) => text.includes('broke off'))).toHaveLength(2);
    expect(seen.said.filter((text) => text.includes('is back'))).toHaveLength(1);
  });

  it('CL-1003, CL-1011: now begins behind the head; a repeated newest line is dropped', async () => {
    const seen = await follow([answer(`{}\n${line(20)}${line(21)}`, 20)]);
    expect(seen.asked[0]).toBe('9223372036854775807');
    expect(seen.indexes).toEqual([21]);
    expect(seen.asked[1]).toBe('22');
  });

  it('CL-1005: a refusal ends it', async () => {
    const seen = await follow([new AnswerFailure(403, 'Permission denied')]);
    expect(seen.ended).toMatchObject({
      message: 'Error reading events: Unexpected response code: 403 (Permission denied)',
      exitCode: 1,
    });
  });

  it('CL-1007: later than asked is a warning, with -strict a failure of its own code, for oldest nothing', async () => {
    const late = () => answer(`{}\n${line(50)}`, 50, 40);
    expect((await follow([late()], { start: 3 })).said[0]).toBe(
      'Events before index 40 are no longer retained; starting there',
    );
    expect((await follow([late()], { start: 3, strict: true })).ended).toMatchObject({
      message: 'Index 3 is no longer retained (oldest: 40)',
      exitCode: 3,
    });
    const gone = new AnswerFailure(410, 'requested index not in buffer', { 'x-waybill-event-floor': '40' });
    expect((await follow([gone], { start: 3, strict: true })).ended).toMatchObject({ exitCode: 3 });
    expect((await follow([late()], { start: 'oldest' })).said).not.toContainEqual(
      expect.stringContaining('no longer retained'),
    );
  });

  it('CL-1011: -no-follow ends with what was newest at the start', async () => {
    const seen = await follow([answer(`{}\n${line(3)}${line(6)}${line(8)}`, 6)], { start: 1, untilHead: true });
    expect([seen.indexes, seen.ended]).toEqual([[3, 6], 'end']);
    const nothing = await follow([answer('{}\n', 6)], { untilHead: true });
    expect([nothing.indexes, nothing.ended]).toEqual([[], 'end']);
  });
});

it('CL-1009: reads no further than what it gives is taken', async () => {
  let given = 0;
  const body = (async function* () {
    for (let index = 1; index <= 100; index++) {
      given = index;
      yield Buffer.from(line(index));
    }
  })();
  const follower = new EventFollower(
    { start: 1, strict: false, untilHead: false },
    {
      open: async () => ({ headers: {}, body }),
      sleep: () => Promise.reject(new DOMException('over', 'AbortError')),
      random: () => 0,
      note: () => undefined,
      warn: () => undefined,
    },
  );
  const lines = follower.lines();
  for (let taken = 1; taken <= 5; taken++) {
    expect((await lines.next()).value).toMatchObject({ Index: taken });
    await new Promise(setImmediate);
    expect(given).toBe(taken);
  }
  await lines.return(undefined);
});

describe('event rows', () => {
  it('CL-1001, CL-1002: fixed columns and a summary by topic', () => {
    const id = '0f9e8d7c-0000-4000-8000-000000000000';
    const event = {
      Topic: 'Allocation',
      Type: 'PlanResult',
      Key: id,
      Namespace: 'default',
      Payload: {
        Allocation: { Name: 'web.cache[0]', NodeID: '1f3a9c2e-0', DesiredStatus: 'run', ClientStatus: 'pending' },
      },
    };
    const row = eventRow({ Index: 814, Events: [event], text: '' }, event, new Display(false, 0));
    expect(row).toBe(
      `814         <none>${' '.repeat(21)}Allocation    PlanResult${' '.repeat(22)}default       0f9e8d7c  ` +
        'web.cache[0] on 1f3a9c2e desired run client pending',
    );
  });
});
