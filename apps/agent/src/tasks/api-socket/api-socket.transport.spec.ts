import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Refusal } from '@waybill/model';
import {
  type Call,
  MAX_TASK_REQUEST_BYTES,
  type Rpc,
  RpcUnavailableError,
  type TaskApiAnswer,
  type TaskApiRequest,
} from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiSocket, MAX_API_SOCKET_CONNECTIONS } from './api-socket.transport.js';
import { TaskAnswers } from './task-answers.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

let root: string;
let socket: ApiSocket | undefined;
let answers: TaskAnswers;
/** The requests to the servers, and their answers. */
let asked: TaskApiRequest[];
let answer: (request: TaskApiRequest) => Promise<TaskApiAnswer>;

const rpc: Rpc = {
  async ask<Req, Res>(_call: Call<Req, Res>, wanted: Req): Promise<Res> {
    asked.push(wanted as TaskApiRequest);
    return (await answer(wanted as TaskApiRequest)) as Res;
  },
};
const whole = (text: string): TaskApiAnswer => ({ Status: 200, Headers: {}, Body: base64(text), More: false });
const place = (): string => path.join(root, 'web/secrets/api.sock');
const openIn = async (taskDir: string, owner?: { uid: number; gid: number }): Promise<void> => {
  let ids = 0;
  const deps = { rpc, newId: () => `request ${++ids}`, nodeId: () => 'node', answers, logger: silentLogger };
  socket = await ApiSocket.open(taskDir, path.join(taskDir, 'secrets'), owner, deps);
};
const open = (owner?: { uid: number; gid: number }): Promise<void> => openIn(path.join(root, 'web'), owner);
const close = async (): Promise<void> => {
  await socket?.close();
  socket = undefined;
};
const send = (method = 'GET', url = '/v1/jobs?x=1', body: string | Buffer = ''): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = request({ socketPath: place(), path: url, method, headers: { 'x-nomad-token': 't' } }, resolve);
    sent.once('error', reject);
    sent.end(body);
  });
const textOf = async (message: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of message as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
};

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-api-socket-'));
  await mkdir(path.join(root, 'web/secrets'), { recursive: true });
  answers = new TaskAnswers();
  asked = [];
  answer = async () => whole('here');
});
afterEach(async () => {
  await close();
  await rm(root, { recursive: true, force: true });
});

describe('the socket of a task', () => {
  it('AU-211, AU-215: passes a request on as it is, and its answer back', async () => {
    await open();
    answer = async () => ({ Status: 418, Headers: { 'x-nomad-index': '7' }, Body: base64('short'), More: false });
    const got = await send('PUT', '/v1/var/a?cas=1', 'body');
    expect([got.statusCode, got.headers['x-nomad-index'], await textOf(got)]).toEqual([418, '7', 'short']);
    const sent = { Method: 'PUT', Path: '/v1/var/a?cas=1', Headers: { 'x-nomad-token': 't' }, Body: base64('body') };
    expect(asked).toMatchObject([{ NodeID: 'node', ...sent }]);
    expect(answers.size).toBe(0);
  });

  it('AU-211: takes the place of what an agent that was killed has left, and is gone when it is closed', async () => {
    await writeFile(place(), 'left');
    await open();
    expect(await textOf(await send())).toBe('here');
    await close();
    expect(existsSync(place())).toBe(false);
  });

  it('AU-211: a path longer than a socket may have is no obstacle', async () => {
    const deep = path.join(root, 'x'.repeat(120), 'web');
    await mkdir(path.join(deep, 'secrets'), { recursive: true });
    await openIn(deep);
    expect(existsSync(path.join(deep, 'secrets/api.sock'))).toBe(true);
  });

  it.runIf(process.getuid?.() === 0)("AU-212: is the task's alone where its user is known (needs root)", async () => {
    await open({ uid: 12_345, gid: 12_345 });
    const { uid, mode } = await stat(place());
    expect([uid, mode & 0o777]).toEqual([12_345, 0o600]);
  });

  it('AU-212: is open to whoever gets into the secrets directory where nobody knows the user', async () => {
    await open();
    expect((await stat(place())).mode & 0o777).toBe(0o666);
  });

  it('AU-214: servers that cannot be reached, and a body that is too long', async () => {
    await open();
    answer = () => Promise.reject(new RpcUnavailableError('x', 'no responder'));
    const away = await send();
    expect([away.statusCode, await textOf(away)]).toEqual([500, 'Server error authenticating request\n']);
    const long = await send('PUT', '/v1/jobs', Buffer.alloc(MAX_TASK_REQUEST_BYTES + 1));
    expect(long.statusCode).toBe(413);
    expect(await textOf(long)).toContain(`${MAX_TASK_REQUEST_BYTES} bytes`);
    expect([asked.length, answers.size]).toEqual([1, 0]);
  });

  it('AU-216: further pieces come in order, also one that overtakes the beginning; a hang-up refuses the next', async () => {
    await open();
    let overtaking: Promise<void> | undefined;
    answer = async ({ RequestID }) => {
      overtaking = answers.takePiece({ RequestID, Body: base64('two '), Ended: false });
      return { Status: 200, Headers: {}, Body: base64('one '), More: true };
    };
    const got = await send();
    await overtaking;
    const { RequestID } = asked[0]!;
    let text = '';
    got.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await answers.takePiece({ RequestID, Body: base64('three'), Ended: false });
    await vi.waitFor(() => expect(text).toBe('one two three'));
    got.destroy();
    await vi.waitFor(() => expect(answers.size).toBe(0));
    const late = await answers
      .takePiece({ RequestID, Body: base64('four'), Ended: false })
      .catch((error: unknown) => error);
    expect(late instanceof Refusal && late.code).toBe('not-found');
  });

  it('AU-216: closing it ends its streams', async () => {
    await open();
    answer = async () => ({ Status: 200, Headers: {}, Body: '', More: true });
    const got = await send();
    const ended = new Promise((resolve) => got.once('close', resolve));
    got.on('error', () => {}).resume();
    await close();
    await ended;
    await vi.waitFor(() => expect(answers.size).toBe(0));
  });

  it(`AU-216: takes ${MAX_API_SOCKET_CONNECTIONS} connections`, async () => {
    await open();
    const connected = Array.from({ length: MAX_API_SOCKET_CONNECTIONS }, () => connect(place()));
    await Promise.all(connected.map((one) => new Promise((resolve) => one.once('connect', resolve))));
    const more = connect(place());
    await new Promise((resolve) => more.on('error', () => {}).once('close', resolve));
    for (const one of connected) one.destroy();
  });
});
