import type { NatsConnection } from '@nats-io/transport-node';
import { RpcError } from './call.js';

/** Of what the server takes, kept for the headers that go with a message. */
const HEADERS_BYTES = 1_024;

const encoder = new TextEncoder();
export const encoded = (text: string): Uint8Array => encoder.encode(text);

/** Bytes that a message of a call may have; as the server says when it is connected to. */
export const maxMessageBytes = (nc: NatsConnection): number =>
  nc.info === undefined ? Number.POSITIVE_INFINITY : nc.info.max_payload - HEADERS_BYTES;

/** @param bytes undefined: more than can be counted */
export const tooLarge = (
  what: 'question' | 'answer',
  call: string,
  bytes: number | undefined,
  limitBytes: number,
): RpcError =>
  new RpcError('too-large', `${call}: the ${what} has ${bytes ?? 'far too many'} bytes, and NATS takes ${limitBytes}`);
