import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';

/** A client of WebSockets as tests need one: text out, messages in, and why it was closed. */
export class TestWebSocket {
  readonly messages: string[] = [];
  closedWith: { readonly code: number; readonly reason: string } | undefined;
  isGone = false;

  private constructor(readonly raw: WebSocket) {
    raw.on('message', (message: Buffer) => this.messages.push(message.toString()));
    raw.on('error', () => {});
    raw.on('close', (code, reason) => {
      this.isGone = true;
      this.closedWith = { code, reason: reason.toString() };
    });
  }

  /** @throws what the server answered instead of the handshake */
  static async open(url: string, headers: Record<string, string> = {}): Promise<TestWebSocket> {
    const raw = new WebSocket(url, { headers, perMessageDeflate: false });
    const client = new TestWebSocket(raw);
    const refused = once(raw, 'unexpected-response').then(([, answer]) => {
      throw new Error(`refused: ${(answer as IncomingMessage).statusCode}`);
    });
    await Promise.race([once(raw, 'open'), refused]);
    refused.catch(() => {});
    return client;
  }

  send(value: unknown): void {
    this.raw.send(typeof value === 'string' ? value : JSON.stringify(value));
  }
}
