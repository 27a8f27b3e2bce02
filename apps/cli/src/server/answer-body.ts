import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { ConnectionFailure } from './api-failure.js';
import { named } from './wire.js';

/** Returns the text of a response, decompressed. @param broken error if the response is incomplete */
export async function bodyText(message: IncomingMessage, broken: () => Error): Promise<string> {
  try {
    return await textOf(await unpacked(message));
  } catch {
    throw broken();
  }
}

/** Yields the chunks of a response, decompressed. @param broken error if the response is incomplete */
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
  // The reader of the stream receives its errors.
  return pipeline(message, createGunzip(), () => {});
}

/**
 * Returns the error for an aborted request. A body that is cut off by the abort would only report a broken connection.
 */
export const abortOf = (signal: AbortSignal): Error | undefined =>
  signal.aborted ? new DOMException('The request was given up', 'AbortError') : undefined;

export const brokenOff = (method: string, url: URL): ConnectionFailure =>
  new ConnectionFailure(`${named({ method, url })}: the connection broke off`);
