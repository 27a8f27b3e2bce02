import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const VERSION = '13';
const KEY_BYTES = 16;

/** The headers by which a client asks for a WebSocket (RFC 6455, 4.1). */
export const upgradeHeaders = (): Record<string, string> => ({
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': VERSION,
  'Sec-WebSocket-Key': randomBytes(KEY_BYTES).toString('base64'),
});

/** The text to answer a request with that is no handshake; null: it is one. */
export function handshakeProblem({ headers, method }: Pick<IncomingMessage, 'headers' | 'method'>): string | null {
  if (method !== 'GET') return 'a WebSocket begins with GET';
  if (headers['sec-websocket-version'] !== VERSION) return `only version ${VERSION} of WebSocket is spoken here`;
  const key = headers['sec-websocket-key'];
  return key !== undefined && Buffer.from(key, 'base64').length === KEY_BYTES
    ? null
    : 'the key of the WebSocket is missing';
}

/** What a server answers to a client's key (RFC 6455, 4.2.2). */
export const acceptKey = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** The answer to a handshake, as it goes over the wire. */
export const handshakeAnswer = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptKey(headers['sec-websocket-key'] ?? '')}\r\n\r\n`;
