import { agentLine, createLogger, LogFeed, RANK } from '@waybill/telemetry';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { logRequests } from './log-requests.js';

const written: string[] = [];
const feed = new LogFeed();
const server = fastify();
beforeAll(() => {
  const destination = { write: (line: string) => void written.push(line) };
  logRequests(server, createLogger('api', 'info', { feed, destination }));
  server.get('/v1/jobs', async () => []);
});
afterAll(() => server.close());

async function seenAt(level: 'info' | 'debug' | 'trace'): Promise<string[]> {
  const lines: string[] = [];
  const end = feed.subscribe(RANK[level], (line) => lines.push(agentLine(line)));
  await server.inject('/v1/jobs?prefix=secret');
  end();
  return lines.map((line) => line.replace(/^\S+ /, '').replace(/duration=[\d.]+ms/, 'duration=<d>'));
}

it('OP-82: requests are in the log of whoever watches at debug, their beginnings at trace, and nowhere else', async () => {
  const complete = '[DEBUG] http: request complete: method=GET path=/v1/jobs status=200 duration=<d>\n';
  expect(await seenAt('info')).toEqual([]);
  expect(await seenAt('debug')).toEqual([complete]);
  expect(await seenAt('trace')).toEqual(['[TRACE] http: request received: method=GET path=/v1/jobs\n', complete]);
  expect(written).toEqual([]);
});
