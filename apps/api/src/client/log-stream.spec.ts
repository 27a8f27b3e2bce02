import { type Call, EVERYBODY_CALLS, type ReadLogRequest, type ReadLogResponse, type Rpc, UserRpc } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { readTaskLog } from './log-stream.js';

type Piece = Partial<Omit<ReadLogResponse, 'Data'>> & { data?: string };

/** An agent that answers with these, one after the other, and then that there is nothing new. */
function agentWith(pieces: Piece[], available = Infinity) {
  const asked: ReadLogRequest[] = [];
  let behind = 0;
  const rpc: Rpc = {
    async ask<Req, Res>(_: Call<Req, Res>, request: Req): Promise<Res> {
      asked.push(request as ReadLogRequest);
      const { data = '', ...over } = pieces.shift() ?? {};
      behind += data.length;
      const answer = { Data: Buffer.from(data).toString('base64'), NextOffset: behind, File: 'web.stdout.0' };
      return { ...answer, Available: available, ...over } as Res;
    },
  };
  async function* read(follow: boolean, signal = new AbortController().signal): AsyncGenerator<string> {
    const wanted = {
      nodeId: 'n',
      allocId: 'a',
      task: 'web',
      type: 'stdout',
      origin: 'start',
      offset: 0,
      follow,
    } as const;
    for await (const piece of readTaskLog(new UserRpc(rpc, EVERYBODY_CALLS), wanted, signal))
      yield piece ? `${piece.file}@${piece.offset} ${piece.data.toString()}` : 'heartbeat';
  }
  return { asked, read };
}

async function all(stream: AsyncGenerator<string>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

describe('a task’s log as a stream', () => {
  it('AG-311: without follow it ends where there is no more, although the task goes on', async () => {
    const { asked, read } = agentWith([{ data: 'one' }, { data: 'two' }]);
    expect(await all(read(false))).toEqual(['web.stdout.0@0 one', 'web.stdout.0@3 two']);
    expect(asked.map(({ WaitMs }) => WaitMs)).toEqual([0, 0, 0]);
  });

  it('AG-311: without follow it ends where there was no more when it began, however fast the task writes', async () => {
    const { asked, read } = agentWith([{ data: 'one' }, { data: 'two', Available: 99 }, { data: 'three' }], 5);
    expect(await all(read(false))).toEqual(['web.stdout.0@0 one', 'web.stdout.0@3 tw']);
    expect(asked).toHaveLength(2);
  });

  it('AG-311, AG-316, AG-453: with follow it goes on with what comes, heartbeats between, until its reader leaves', async () => {
    const gone = new AbortController();
    const { read } = agentWith([{ data: 'one' }, {}, {}, { data: 'two' }, {}], 3);
    const seen: string[] = [];
    for await (const piece of read(true, gone.signal)) if (seen.push(piece) === 5) gone.abort();
    expect(seen).toEqual(['web.stdout.0@0 one', 'heartbeat', 'heartbeat', 'web.stdout.0@3 two', 'heartbeat']);
  });

  it('AG-309, AG-451: a piece is of one file and names it, and the next goes on where it ended', async () => {
    const { asked, read } = agentWith([{ data: 'old' }, { data: 'new', File: 'web.stdout.1' }, {}]);
    expect(await all(read(false))).toEqual(['web.stdout.0@0 old', 'web.stdout.1@3 new']);
    expect(asked.map(({ Offset }) => Offset)).toEqual([0, 3, 6]);
  });

  it('ends when its reader is gone', async () => {
    const gone = new AbortController();
    const { asked, read } = agentWith([{ data: 'one' }]);
    const stream = read(true, gone.signal);
    expect((await stream.next()).value).toBe('web.stdout.0@0 one');
    gone.abort();
    expect(await all(stream)).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});
