import { createServer, Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { Metrics } from '@waybill/telemetry';
import { limitConnections, REFUSAL_RATE } from './connection-limit.js';

it('OP-225: a hundred refusals at once in words, then ten a second; more are hung up on without a word', () => {
  let nowMs = 5_000;
  const server = createServer();
  limitConnections(server, 1, new Metrics('api'), { nowMs: () => nowMs });
  let inWords = 0;
  let without = 0;
  const connect = (): void => {
    const socket = new Socket();
    vi.spyOn(socket, 'end').mockImplementation(() => (inWords++, socket));
    vi.spyOn(socket, 'destroy').mockImplementation(() => (without++, socket));
    socket.setTimeout = () => socket;
    server.emit('connection', socket);
  };
  const refused = (asked: number): [number, number] => {
    [inWords, without] = [0, 0];
    for (let n = 0; n < asked; n++) connect();
    return [inWords, without];
  };
  expect(refused(1)).toEqual([0, 0]);
  expect(refused(300)).toEqual([100, 200]);
  nowMs += 1_000;
  expect(refused(50)).toEqual([10, 40]);
  nowMs += 3_600_000;
  expect(refused(500)).toEqual([REFUSAL_RATE.burst, 400]);
});
