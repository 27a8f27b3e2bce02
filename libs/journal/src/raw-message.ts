import type { Msg } from '@nats-io/transport-node';
import type { WrittenTxn } from './txn-codec.js';

/** Where a message stands: its stream sequence, and its number among the deliveries of its consumer. */
export interface DeliveryNumbers {
  readonly sequence: number;
  readonly number: number;
}

const ACK_PREFIX = '$JS.ACK.';

/**
 * The numbers in a JetStream delivery's reply subject, undefined if it is no delivery. The subject has two forms,
 * `$JS.ACK.<stream>.<consumer>.…` and `$JS.ACK.<domain>.<account>.<stream>.<consumer>.…`, both followed by
 * deliveries, stream sequence, delivery number, time, pending.
 */
export function deliveryOf(msg: Msg): DeliveryNumbers | undefined {
  const { reply } = msg;
  if (!reply?.startsWith(ACK_PREFIX)) return undefined;
  let dots = 0;
  for (let i = reply.indexOf('.'); i >= 0; i = reply.indexOf('.', i + 1)) dots++;
  let at = 0;
  for (let skip = dots === 8 ? 5 : 7; skip > 0; skip--) at = reply.indexOf('.', at) + 1;
  const second = reply.indexOf('.', at) + 1;
  return {
    sequence: Number(reply.slice(at, second - 1)),
    number: Number(reply.slice(second, reply.indexOf('.', second))),
  };
}

/** The client's message keeps the bytes it got, headers first; through `headers` each would become a map of lists. */
interface RawMsg extends Msg {
  readonly _rdata: Uint8Array;
  readonly _msg: { readonly hdr: number };
}

const isRaw = (msg: Msg): msg is RawMsg =>
  '_rdata' in msg &&
  msg._rdata instanceof Uint8Array &&
  '_msg' in msg &&
  typeof msg._msg === 'object' &&
  msg._msg !== null &&
  'hdr' in msg._msg &&
  typeof msg._msg.hdr === 'number';

/** Reads header block and body of a message of the log out of the one buffer, without making views of it first. */
export class MessageText implements WrittenTxn {
  private readonly bytes: Buffer | undefined;
  /** Where the body begins. */
  private readonly from: number = 0;

  constructor(private readonly msg: Msg) {
    if (!isRaw(msg) || !Buffer.isBuffer(msg._rdata)) return;
    this.bytes = msg._rdata;
    this.from = Math.max(0, msg._msg.hdr);
  }

  get headers(): string {
    return this.bytes ? this.bytes.toString('latin1', 0, this.from) : rebuiltBlock(this.msg);
  }

  /** Made when it is asked for: a reader that passes over the message does not pay for it. */
  get body(): Uint8Array | string {
    if (!this.bytes || this.from === 0) return this.msg.data;
    const body = this.bytes.toString('utf8', this.from);
    // The mark of what was no UTF-8; it may also be meant, so that the decoder has to look at the bytes.
    return body.includes('\ufffd') ? this.msg.data : body;
  }
}

/** The same from the public interface, for a client whose inside looks different. */
export function rebuiltBlock(msg: Pick<Msg, 'headers'>): string {
  let block = 'NATS/1.0\r\n';
  for (const [key, values] of msg.headers ?? []) for (const value of values) block += `${key}: ${value}\r\n`;
  return `${block}\r\n`;
}
