import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { ConnectionFailure } from './api-failure.js';
import { named } from './wire.js';

/** The text of an answer, unpacked. @param broken what to say when it ends too early */
export async function bodyText(message: IncomingMessage, broken: () => Error): Promise<string> {
  try {
    return await textOf(await unpacked(message));
  } catch {
    throw broken();
  }
}

/** What comes of an answer, as it comes, unpacked. @param broken what to say when it ends too early */
export async function* chunksOf(message: IncomingMessage, broken: () => Error): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of await unpacked(message)) yield chunk as Uint8Array;
  } catch {
    throw broken();
  }
}

async function unpacked(message: IncomingMessage): Promise<Readable> {
  if (message.headers['content-encoding'] !== 'gzip') return message;
  const [{ createGunzip }, { pipeline }] = await Promise.all([import('node:zlib'), import('node:stream')]);
  // Whoever reads it hears of what goes wrong.
  return pipeline(message, createGunzip(), () => {});
}

/** What an aborted request rejects with; a body that is cut off by it says only that the connection broke. */
export const abortOf = (signal: AbortSignal): Error | undefined =>
  signal.aborted ? new DOMException('The request was given up', 'AbortError') : undefined;

export const brokenOff = (method: string, url: URL): ConnectionFailure =>
  new ConnectionFailure(`${named({ method, url })}: the connection broke off`);
