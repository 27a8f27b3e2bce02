import { FakeTime } from '@waybill/model';
import { type Call, type Rpc, type TaskAnswerPiece, type TaskApiRequest } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { FIRST_PIECE_MS, type InProcessRequest, TaskRequests } from './task-requests.js';

let time: FakeTime;
let body: PassThrough;
let given: InProcessRequest[];
let pieces: TaskAnswerPiece[];
/** Whether the machine still takes pieces. */
let reads: boolean;
let requests: TaskRequests;

const rpc: Rpc = {
  async ask<Req, Res>(_call: Call<Req, Res>, piece: Req): Promise<Res> {
    if (!reads) throw new Error('the task has hung up');
    pieces.push(piece as TaskAnswerPiece);
    return null as Res;
  },
};
const aRequest = (over: Partial<TaskApiRequest> = {}): TaskApiRequest => ({
  NodeID: 'node',
  RequestID: 'r',
  Method: 'GET',
  Path: '/v1/jobs',
  Headers: { 'x-nomad-token': 'good', host: 'evil.example', connection: 'upgrade' },
  Body: '',
  ...over,
});
const text = (data: string): string => Buffer.from(data, 'base64').toString();

beforeEach(() => {
  time = new FakeTime();
  body = new PassThrough();
  [given, pieces, reads] = [[], [], true];
  const accepts = async (credential: string): Promise<boolean> => credential === 'good';
  requests = new TaskRequests({ accepts, rpc, timers: time, logger: silentLogger });
  requests.serve({
    inject: async (request) => {
      given.push(request);
      const headers = { 'x-nomad-index': 7, 'transfer-encoding': 'chunked' };
      return { statusCode: 200, headers, stream: () => body };
    },
  });
});

describe('a request of a task', () => {
  it('AU-213: without a credential, and with one that does not count, nothing is asked', async () => {
    const without = await requests.answer(aRequest({ Headers: {} }));
    expect([without.Status, text(without.Body)]).toEqual([401, 'Unauthorized\n']);
    const bad = await requests.answer(aRequest({ Headers: { authorization: 'Bearer bad' } }));
    expect([bad.Status, text(bad.Body)]).toEqual([403, 'Forbidden\n']);
    expect(given).toEqual([]);
  });

  it('AU-215: is given to the server with its credential, under a name that the server knows', async () => {
    body.end('whole');
    const answer = await requests.answer(aRequest({ Method: 'PUT', Body: Buffer.from('sent').toString('base64') }));
    expect(given).toMatchObject([{ method: 'PUT', url: '/v1/jobs', payload: Buffer.from('sent') }]);
    expect(given[0]?.headers).toEqual({ 'x-nomad-token': 'good', host: 'localhost' });
    expect(answer).toMatchObject({ Status: 200, Headers: { 'x-nomad-index': '7' }, More: false });
    expect([text(answer.Body), pieces]).toEqual(['whole', []]);
  });

  it('AU-216: what comes later follows in pieces, and the last one says so', async () => {
    body.write('first');
    const answering = requests.answer(aRequest());
    await time.pass(FIRST_PIECE_MS);
    const answer = await answering;
    expect([text(answer.Body), answer.More]).toEqual(['first', true]);
    body.write('second');
    await vi.waitFor(() => expect(pieces.map(({ Body }) => text(Body))).toEqual(['second']));
    body.end();
    await vi.waitFor(() => expect(pieces.at(-1)).toEqual({ RequestID: 'r', Body: '', Ended: true }));
  });

  it('AU-216: a task that hangs up ends its answer, and so does the end of the server', async () => {
    const answering = requests.answer(aRequest());
    await time.pass(FIRST_PIECE_MS);
    await answering;
    reads = false;
    body.write('for nobody');
    await vi.waitFor(() => expect(body.destroyed).toBe(true));

    body = new PassThrough();
    const second = requests.answer(aRequest());
    await time.pass(FIRST_PIECE_MS);
    await second;
    requests.stop();
    await vi.waitFor(() => expect(body.destroyed).toBe(true));
    await expect(requests.answer(aRequest())).rejects.toThrow('the API is starting or stopping');
  });
});
