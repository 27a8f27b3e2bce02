import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LoginHosts } from '../acl/login-hosts.js';
import { callsTo } from './outside-calls.transport.js';

const asked: string[] = [];
const server = createServer((request, answer) => {
  asked.push(request.url ?? '');
  answer.end('{}');
});
let port: number;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

it('AU-108: a provider that names an address elsewhere does not get it called', async () => {
  const hosts = new LoginHosts(['127.0.0.1']);
  const call = callsTo((url) => hosts.allows(url))([]);
  const get = { method: 'GET', headers: {} };
  expect((await call(`http://127.0.0.1:${port}/keys`, get)).status).toBe(200);
  await expect(call(`http://localhost:${port}/inner`, get)).rejects.toThrow('logins may not call the host localhost');
  expect(asked).toEqual(['/keys']);
});
