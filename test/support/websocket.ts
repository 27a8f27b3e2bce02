import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';

/** A client of WebSockets as small as tests need one: text out, messages in, and why it was closed. */
export class TestWebSocket {
  readonly messages: string[] = [];
  closedWith: { readonly code: number; readonly reason: string } | undefined;
  isGone = false;
  private rest = Buffer.alloc(0);

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', () => {});
    socket.on('close', () => (this.isGone = true));
  }

  /** @throws what the server answered instead of the handshake */
  static async open(url: string, headers: Record<string, string> = {}): Promise<TestWebSocket> {
    const asking = request(url, {
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
        ...headers,
      },
    });
    asking.end();
    const refused = once(asking, 'response').then(([answer]) => {
      throw new Error(`refused: ${(answer as IncomingMessage).statusCode}`);
    });
    const [, socket, head] = (await Promise.race([once(asking, 'upgrade'), refused])) as [unknown, Socket, Buffer];
    refused.catch(() => {});
    const client = new TestWebSocket(socket);
    client.take(head);
    return client;
  }

  send(value: unknown): void {
    this.frame(0x81, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
  }

  /** Any frame, masked as clients have to. */
  frame(firstByte: number, payload: Buffer): void {
    const mask = randomBytes(4);
    const head =
      payload.length < 126
        ? Buffer.from([firstByte, 0x80 | payload.length])
        : Buffer.from([firstByte, 0x80 | 126, payload.length >> 8, payload.length & 0xff]);
    const masked = payload.map((byte, at) => byte ^ mask[at % 4]!);
    this.socket.write(Buffer.concat([head, mask, masked]));
  }

  private take(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk]);
    for (;;) {
      if (this.rest.length < 2) return;
      const short = this.rest[1]! & 0x7f;
      const head = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (this.rest.length < head) return;
      const length =
        head === 4 ? this.rest.readUInt16BE(2) : head === 10 ? Number(this.rest.readBigUInt64BE(2)) : short;
      if (this.rest.length < head + length) return;
      this.heard(this.rest[0]! & 0x0f, this.rest.subarray(head, head + length));
      this.rest = this.rest.subarray(head + length);
    }
  }

  private heard(opcode: number, payload: Buffer): void {
    if (opcode === 1) this.messages.push(payload.toString());
    if (opcode === 9) this.frame(0x8a, payload);
    if (opcode !== 8) return;
    this.closedWith = { code: payload.readUInt16BE(0), reason: payload.subarray(2).toString() };
    this.frame(0x88, payload.subarray(0, 2));
    this.socket.end();
  }
}
