import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket as Raw } from 'ws';
import { CLOSE, WebSocket } from './web-socket.js';

const LIMITS = { maxMessageBytes: 1_000 };

let server: Server;
let url: URL;
let accepted: Promise<WebSocket>;
beforeEach(async () => {
  server = createServer((_, response) => response.writeHead(404).end('nothing here'));
  accepted = new Promise((resolve) => {
    server.on('upgrade', (request, socket, head) => {
      if (request.url === '/refused') return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
      WebSocket.accept({ request, socket, head }, LIMITS, resolve);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Both ends. */
async function connected(): Promise<{ client: WebSocket; peer: WebSocket }> {
  const opened = await WebSocket.open(url, LIMITS);
  if (opened.kind === 'refused') throw new Error(`refused: ${opened.answer.statusCode}`);
  return { client: opened.socket, peer: await accepted };
}

/** The server's end, and a client that sends what it likes. */
async function withRawClient(): Promise<{ raw: Raw; peer: WebSocket }> {
  const raw = new Raw(url);
  await once(raw, 'open');
  return { raw, peer: await accepted };
}

const all = async (socket: WebSocket): Promise<string[]> => {
  const found = [];
  for await (const message of socket.messages()) found.push(message);
  return found;
};

describe('a WebSocket', () => {
  it('carries text both ways, and tells how the other end closed it', async () => {
    const { client, peer } = await connected();
    await client.send('grüße');
    expect(await peer.first()).toBe('grüße');
    await peer.send('one');
    await peer.send('two');
    peer.close(CLOSE.policy, 'not allowed');
    expect(await all(client)).toEqual(['one', 'two']);
    expect(client.closing).toEqual({ code: 1008, reason: 'not allowed' });
    expect([client.closed.aborted, peer.closed.aborted]).toEqual([true, true]);
  });

  it.each([
    ['as long as a close frame has room for', 'x'.repeat(123), 'x'.repeat(123)],
    ['longer: it is cut between characters', 'é'.repeat(200), 'é'.repeat(61)],
    ['half a character', 'a\ud83d', 'a\ufffd'],
  ])('AG-324: a reason that is %s', async (_what, reason, heard) => {
    const { client, peer } = await connected();
    peer.close(CLOSE.internal, reason);
    expect(await all(client)).toEqual([]);
    expect(client.closing).toEqual({ code: 1011, reason: heard });
  });

  it('AG-324, CL-431: a peer that closes while it is written to is heard, not the failed write', async () => {
    const { client, peer } = await connected();
    const writing = (async () => {
      for (; !client.closed.aborted; await setImmediate()) await client.send('more');
    })();
    expect(await peer.first()).toBe('more');
    peer.close(CLOSE.policy, 'not allowed');
    expect(await all(client)).toEqual([]);
    expect(client.closing).toEqual({ code: 1008, reason: 'not allowed' });
    await writing;
  });

  it('a connection that breaks off ends the messages', async () => {
    const { client, peer } = await connected();
    await peer.send('one');
    expect(await client.first()).toBe('one');
    peer.destroy();
    expect(await all(client)).toEqual([]);
    expect(client.closing).toEqual({ code: 1005, reason: 'the connection broke off' });
    await client.send('into the void');
  });

  it('what a peer sends while nobody asks is held back, and nothing of it is lost', async () => {
    const { client, peer } = await connected();
    const sent = Array.from({ length: 5_000 }, (_, n) => `${n} ${'x'.repeat(900)}`);
    const sending = (async () => {
      for (const text of sent) await client.send(text);
      client.close(CLOSE.normal, '');
    })();
    expect(await all(peer)).toEqual(sent);
    await sending;
  });

  it.each([
    ['binary', (raw: Raw) => raw.send(Buffer.from('x')), 1003],
    ['too long', (raw: Raw) => raw.send('x'.repeat(1_001)), 1009],
    ['no UTF-8', (raw: Raw) => raw.send(Buffer.from([0xff, 0xfe]), { binary: false }), 1007],
  ])('what is %s ends it, and the peer is told why', async (_what, send, code) => {
    const { raw, peer } = await withRawClient();
    const closed = once(raw, 'close');
    send(raw);
    expect(await all(peer)).toEqual([]);
    expect((await closed)[0]).toBe(code);
  });

  it('a server that does not agree is heard', async () => {
    const opened = await WebSocket.open(new URL('/refused', url), LIMITS);
    expect(opened.kind === 'refused' && opened.answer.statusCode).toBe(403);
  });
});
