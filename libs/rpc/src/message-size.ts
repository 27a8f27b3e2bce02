import type { NatsConnection } from '@nats-io/transport-node';
import { RpcError } from './call.js';

/** Bytes of the server's limit that are reserved for the headers of a message. */
const HEADERS_BYTES = 1_024;

const encoder = new TextEncoder();
export const encoded = (text: string): Uint8Array => encoder.encode(text);

/** Returns the most bytes of a call's message, from the limit that the connected server announces. */
export const maxMessageBytes = (nc: NatsConnection): number =>
  nc.info === undefined ? Number.POSITIVE_INFINITY : nc.info.max_payload - HEADERS_BYTES;

/** @param bytes undefined if there are too many to count */
export const tooLarge = (
  what: 'question' | 'answer',
  call: string,
  bytes: number | undefined,
  limitBytes: number,
): RpcError =>
  new RpcError('too-large', `${call}: the ${what} has ${bytes ?? 'far too many'} bytes, and NATS takes ${limitBytes}`);
