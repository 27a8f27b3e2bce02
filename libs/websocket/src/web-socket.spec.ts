import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CLOSE, frame, OPCODE } from './frames.js';
import { WebSocket } from './web-socket.js';

const MAX = 1_000;
const EMPTY = Buffer.alloc(0);

/** Both ends, and the raw connection of the server's. */
function connected() {
  const [left, right] = duplexPair();
  const client = new WebSocket(left, EMPTY, { role: 'client', maxMessageBytes: MAX });
  const server = new WebSocket(right, EMPTY, { role: 'server', maxMessageBytes: MAX });
  return { client, server };
}

/** A client whose server is played by the test. */
function withPlayedServer() {
  const [left, right] = duplexPair();
  return { client: new WebSocket(left, EMPTY, { role: 'client', maxMessageBytes: MAX }), server: right };
}

const all = async (socket: WebSocket): Promise<string[]> => {
  const found = [];
  for await (const message of socket.messages()) found.push(message);
  return found;
};

describe('a WebSocket', () => {
  it('carries text both ways, and tells how the other end closed it', async () => {
    const { client, server } = connected();
    await client.send('grüße');
    expect(await server.first()).toBe('grüße');
    await server.send('one');
    await server.send('two');
    server.close(CLOSE.policy, 'not allowed');
    expect(await all(client)).toEqual(['one', 'two']);
    expect(client.closing).toEqual({ code: 1008, reason: 'not allowed' });
    expect([client.closed.aborted, server.closed.aborted]).toEqual([true, true]);
  });

  it('a connection that breaks off ends the messages', async () => {
    const { client, server } = connected();
    await server.send('one');
    expect(await client.first()).toBe('one');
    client.destroy();
    expect(await all(client)).toEqual([]);
    expect(client.closing).toEqual({ code: 1005, reason: 'the connection broke off' });
  });

  it('a peer that leaves without a word takes the connection along', async () => {
    const [own, peer] = duplexPair();
    const socket = new WebSocket(own, EMPTY, { role: 'server', maxMessageBytes: MAX });
    peer.end();
    expect(await all(socket)).toEqual([]);
    expect([socket.closed.aborted, own.destroyed]).toEqual([true, true]);
  });

  it('a message in pieces is put together, with a ping answered in between', async () => {
    const { client, server } = withPlayedServer();
    const piece = (opcode: number, text: string, final: boolean) => {
      const bytes = frame(opcode, Buffer.from(text));
      if (!final) bytes[0] = opcode;
      server.write(bytes);
    };
    piece(OPCODE.text, 'one ', false);
    piece(OPCODE.ping, '?', true);
    piece(OPCODE.continuation, 'message', true);
    expect(await client.first()).toBe('one message');
    expect((server.read() as Buffer)[0]).toBe(0x80 | OPCODE.pong);
  });

  it.each([
    ['binary', frame(OPCODE.binary, Buffer.from('x')), CLOSE.protocol],
    ['a piece of nothing', frame(OPCODE.continuation, Buffer.from('x')), CLOSE.protocol],
    ['too long', frame(OPCODE.text, Buffer.alloc(MAX + 1)), CLOSE.tooBig],
  ])('what is %s ends it, and says why', async (_what, bytes, code) => {
    const { client, server } = withPlayedServer();
    server.write(bytes);
    expect(await all(client)).toEqual([]);
    expect(client.closing.code).toBe(code);
    expect(server.read()).toHaveLength(2 + 4 + 2 + client.closing.reason.length);
  });
});
