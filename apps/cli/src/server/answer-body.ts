import type { IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { ConnectionFailure } from './api-failure.js';
import { named } from './wire.js';

/** The text of an answer, unpacked. @param broken what to say when it ends too early */
export async function bodyText(message: IncomingMessage, broken: () => Error): Promise<string> {
  try {
    if (message.headers['content-encoding'] !== 'gzip') return await textOf(message);
    const { createGunzip } = await import('node:zlib');
    const { pipeline } = await import('node:stream/promises');
    const gunzip = createGunzip();
    const [text] = await Promise.all([textOf(gunzip), pipeline(message, gunzip)]);
    return text;
  } catch {
    throw broken();
  }
}

/** What comes of an answer, as it comes. @param broken what to say when it ends too early */
export async function* chunksOf(message: IncomingMessage, broken: () => Error): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of message) yield chunk as Uint8Array;
  } catch {
    throw broken();
  }
}

/** What an aborted request rejects with; a body that is cut off by it says only that the connection broke. */
export const abortOf = (signal: AbortSignal): Error | undefined =>
  signal.aborted ? new DOMException('The request was given up', 'AbortError') : undefined;

export const brokenOff = (method: string, url: URL): ConnectionFailure =>
  new ConnectionFailure(`${named({ method, url })}: the connection broke off`);
