import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { MAX_ANSWER_BYTES, ServerAwayError } from './server-call.js';
import { callsTo } from './server-call.transport.js';

let server: Server | undefined;
afterEach(() => new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve())));

const NO_FILES = { ca_file: '', cert_file: '', key_file: '', tls_server_name: '' };

async function callsWith(answer: RequestListener, path = '') {
  const made = createServer(answer);
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const { port } = made.address() as AddressInfo;
  return callsTo({ address: `http://127.0.0.1:${port}${path}`, ...NO_FILES }, 'Vault');
}

it('AU-165: sends method, path below the address, headers and JSON, and reads status, text and index', async () => {
  const seen: unknown[] = [];
  const call = await callsWith((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { 'x-vault-token': token, 'content-type': type } = request.headers;
      seen.push([request.method, request.url, token, type, body]);
      response.writeHead(404, { 'x-consul-index': '17' }).end('nothing');
    });
  }, '/behind/');
  const answer = await call({ method: 'PUT', path: '/v1/a?b=c', headers: { 'x-vault-token': 't' }, body: { a: 1 } });
  expect(answer).toEqual({ status: 404, text: 'nothing', index: 17 });
  expect(seen).toEqual([['PUT', '/behind/v1/a?b=c', 't', 'application/json', '{"a":1}']]);
});

it('AU-165: does not follow a redirect, which would send the token elsewhere', async () => {
  let requests = 0;
  const call = await callsWith((_, response) => {
    requests++;
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  expect((await call({ method: 'GET', path: '/v1/a' })).status).toBe(307);
  expect(requests).toBe(1);
});

it('AU-165: gives up after its time, after too many bytes, and without a server', async () => {
  const silent = await callsWith((request) => void request.resume());
  await expect(silent({ method: 'GET', path: '/', timeoutMs: 50 })).rejects.toThrow('no answer within 50 ms');
  server?.closeAllConnections();
  const endless = await callsWith((_, response) => {
    const more = (): void => {
      if (response.destroyed) return;
      if (response.write(Buffer.alloc(65_536))) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  });
  await expect(endless({ method: 'GET', path: '/' })).rejects.toThrow(`longer than ${MAX_ANSWER_BYTES} bytes`);
  const nobody = callsTo({ address: 'http://127.0.0.1:1', ...NO_FILES }, 'Vault')({ method: 'GET', path: '/' });
  await expect(nobody).rejects.toThrow('Vault at http://127.0.0.1:1 cannot be reached (ECONNREFUSED)');
  await expect(nobody).rejects.toBeInstanceOf(ServerAwayError);
});

it('AU-165: a missing file of TLS is an error that may end', async () => {
  const at = { address: 'https://127.0.0.1:1', ...NO_FILES, ca_file: '/nowhere.pem' };
  await expect(callsTo(at, 'Vault')({ method: 'GET', path: '/' })).rejects.toThrow('cannot be reached (ENOENT)');
});
