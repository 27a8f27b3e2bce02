import { describe, expect, it } from 'vitest';
import type { Change } from './change.js';
import { EventStream } from './event-stream.js';
import type { StreamStatus } from './stream-status.js';

/** What the API answers to one request. */
interface Answered {
  readonly status?: number;
  readonly head?: number;
  readonly floor?: number;
  readonly restored?: number;
  readonly lines?: readonly object[];
}

const line = (Index: number): object => ({
  Index,
  Events: [
    {
      Topic: 'Job',
      Type: 'JobRegistered',
      Key: `job${Index}`,
      Namespace: 'default',
      FilterKeys: null,
      Index,
      Payload: {},
    },
  ],
});

/** Follows a stream whose every connection answers as the script says, until the script is over. */
async function followed(script: readonly (Answered | Error)[]) {
  const asked: string[] = [];
  const statuses: StreamStatus[] = [];
  const changes: Change[] = [];
  const waits: number[] = [];
  let gaps = 0;
  const end = new AbortController();
  const means = {
    nowMs: () => 1_000,
    fetch: async (url: string): Promise<Response> => {
      const answered = script[asked.length];
      asked.push(url);
      if (answered === undefined) {
        end.abort();
        throw new Error('the script is over');
      }
      if (answered instanceof Error) throw answered;
      const { status = 200, head = 0, floor = 0, restored = 0, lines = [] } = answered;
      return new Response(lines.map((one) => `${JSON.stringify(one)}\n`).join(''), {
        status,
        headers: {
          'X-Waybill-Event-Head': String(head),
          'X-Waybill-Event-Floor': String(floor),
          'X-Waybill-Event-Restored': String(restored),
        },
      });
    },
    // Silence is never waited for: the answers above end by themselves.
    wait: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (ms < 10_000) {
          waits.push(ms);
          return resolve();
        }
        signal.addEventListener('abort', () => resolve());
      }),
  };
  await new EventStream('', means, {
    onStatus: (status) => statuses.push(status),
    onChanges: (some) => changes.push(...some),
    onGap: () => gaps++,
  }).follow(end.signal);
  return {
    indexes: asked.map((url) => new URL(url, 'http://a').searchParams.get('index')),
    asked,
    statuses,
    changes,
    gaps,
    waits,
  };
}

describe('following the event stream', () => {
  it('EV-61: begins behind the last index, and comes back with the one after the last line', async () => {
    const { indexes, changes, gaps } = await followed([
      { head: 10 },
      { head: 10, lines: [{}, line(12), line(13)] },
      { head: 13, lines: [{}, line(14)] },
    ]);
    expect(indexes.slice(1)).toEqual(['11', '14', '15']);
    expect(changes.map(({ index }) => index)).toEqual([12, 13, 14]);
    expect(gaps).toBe(0);
  });

  it('waits longer after each failure, five seconds at most, and briefly after a connection', async () => {
    const lost = Array.from({ length: 6 }, () => new Error('away'));
    const { waits, statuses } = await followed([{ head: 1 }, { head: 1, lines: [{}] }, ...lost]);
    expect(waits.slice(0, 7)).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
    expect(statuses.at(-1)).toMatchObject({ phase: 'reconnecting', index: 1 });
  });

  it('EV-65, EV-75: reports a gap when events are no longer kept, or the state was restored', async () => {
    expect((await followed([{ head: 10 }, { head: 90, floor: 50 }])).gaps).toBe(1);
    expect((await followed([{ head: 10 }, { head: 90, restored: 80 }])).gaps).toBe(1);
    expect((await followed([{ head: 10 }, { head: 90, floor: 11, restored: 10 }])).gaps).toBe(0);
  });

  it('goes back to the head of a log that has become shorter', async () => {
    const { indexes, gaps } = await followed([{ head: 10 }, { head: 4, lines: [{}] }]);
    expect(indexes.slice(1)).toEqual(['11', '5']);
    expect(gaps).toBe(1);
  });

  it('EV-49: asks for what the token may see of all topics, and says when that is nothing', async () => {
    const { asked } = await followed([{ head: 3 }, { head: 3, lines: [{}] }]);
    expect(asked[1]).toContain('namespace=*&visible=true&topic=Job&');
    expect(asked[1]).toContain('&topic=ACLBindingRule&index=4');
    const refused = await followed([{ status: 403 }, { status: 403 }]);
    expect(refused.statuses.at(-1)).toMatchObject({ phase: 'refused' });
    expect(refused.asked).toHaveLength(2);
  });
});
