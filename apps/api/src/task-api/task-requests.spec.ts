import { FakeTime } from '@waybill/model';
import { type Call, type Rpc, type TaskAnswerPiece, type TaskApiAnswer, type TaskApiRequest } from '@waybill/rpc';
import { systemTimers } from '@waybill/service';
import { silentLogger } from '@waybill/telemetry';
import { fastify } from 'fastify';
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

describe('what a machine in the wrong hands may send for a task', () => {
  it.each<[string, Partial<TaskApiRequest>]>([
    ['a method that is none', { Method: 'X Y' }],
    ['no method', { Method: '' }],
    ['no path', { Path: '' }],
    ['the address of another server', { Path: 'http://evil.example/v1/jobs' }],
    ['a path with NUL and half a character', { Path: '/v1/\u0000\ud800' }],
    ['a path of a megabyte', { Path: `/v1/${'x'.repeat(1_000_000)}` }],
    ['a body that is no base64', { Method: 'PUT', Body: '\u0000%%%' }],
    [
      'headers of a connection, and of every object',
      { Headers: { 'x-nomad-token': 'good', upgrade: 'x', constructor: 'y' } },
    ],
    ['a header with a line break', { Headers: { 'x-nomad-token': 'good', 'x-a': 'b\r\nx-nomad-token: other' } }],
  ])('%s: it is answered or refused, and the server goes on', async (_, over) => {
    const server = fastify();
    const credentials: unknown[] = [];
    server.all('/*', async ({ headers }) => {
      credentials.push(headers['x-nomad-token']);
      return 'here';
    });
    await server.ready();
    const accepts = async (credential: string): Promise<boolean> => credential === 'good';
    const real = new TaskRequests({ accepts, rpc, timers: systemTimers, logger: silentLogger });
    real.serve(server);
    const answer = await real.answer(aRequest(over)).catch((error: unknown) => error);
    expect(answer instanceof Error || (answer as TaskApiAnswer).Status >= 200).toBe(true);
    expect(credentials.every((one) => one === 'good')).toBe(true);
    expect(text((await real.answer(aRequest())).Body)).toBe('here');
    await server.close();
  });
});
