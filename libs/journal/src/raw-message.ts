import type { Msg } from '@nats-io/transport-node';
import type { WrittenTxn } from './txn-codec.js';

/** Position of a message: its stream sequence, and its number among the deliveries of its consumer. */
export interface DeliveryNumbers {
  readonly sequence: number;
  readonly number: number;
}

/**
 * The client's message keeps the received bytes, headers first. Its getters would make strings and maps of lists of
 * them.
 */
interface RawMsg extends Msg {
  readonly _rdata: Uint8Array;
  readonly _msg: { readonly hdr: number; readonly reply?: Uint8Array };
}

function isRaw(msg: Msg | RawMsg): msg is RawMsg {
  const { _rdata, _msg }: Partial<RawMsg> = msg as Partial<RawMsg>;
  return _rdata instanceof Uint8Array && typeof _msg?.hdr === 'number';
}

const replyOf = (msg: Msg): Uint8Array | undefined =>
  isRaw(msg) ? msg._msg.reply : msg.reply === undefined ? undefined : Buffer.from(msg.reply, 'latin1');

const ACK_PREFIX = Buffer.from('$JS.ACK.');
const DOT = 46;
const ZERO = 48;
/** Dots after the prefix: in the short form, and before its stream sequence; the long form has two more before it. */
const SHORT_FORM = 6;
const BEFORE_SEQUENCE = 3;
const MORE_IN_LONG_FORM = 2;

/**
 * The numbers in the reply subject of a JetStream delivery, undefined if the message is none. The subject has two
 * forms, `$JS.ACK.<stream>.<consumer>.…` and `$JS.ACK.<domain>.<account>.<stream>.<consumer>.…`, both followed by
 * deliveries, stream sequence, delivery number, time, pending.
 */
export function deliveryOf(msg: Msg): DeliveryNumbers | undefined {
  const reply = replyOf(msg);
  if (!reply || !isDelivery(reply)) return undefined;
  let [dots, short, long] = [0, 0, 0];
  for (let i = ACK_PREFIX.length; i < reply.length; i++) {
    if (reply[i] !== DOT) continue;
    dots++;
    if (dots === BEFORE_SEQUENCE) short = i + 1;
    else if (dots === BEFORE_SEQUENCE + MORE_IN_LONG_FORM) long = i + 1;
  }
  const at = dots === SHORT_FORM ? short : long;
  return { sequence: wholeNumberAt(reply, at), number: wholeNumberAt(reply, reply.indexOf(DOT, at) + 1) };
}

function isDelivery(reply: Uint8Array): boolean {
  for (let i = 0; i < ACK_PREFIX.length; i++) if (reply[i] !== ACK_PREFIX[i]) return false;
  return true;
}

/** The number that the digits from `from` up to the next dot form. */
function wholeNumberAt(subject: Uint8Array, from: number): number {
  let n = 0;
  for (let i = from; i < subject.length && subject[i] !== DOT; i++) n = n * 10 + (subject[i] as number) - ZERO;
  return n;
}

/** Reads header block and body of a message directly from its buffer, without creating views of it. */
export class MessageText implements WrittenTxn {
  private readonly bytes: Buffer | undefined;
  /** Offset of the body. */
  private readonly from: number = 0;

  constructor(private readonly msg: Msg) {
    if (!isRaw(msg) || !Buffer.isBuffer(msg._rdata)) return;
    this.bytes = msg._rdata;
    this.from = Math.max(0, msg._msg.hdr);
  }

  get headers(): string {
    return this.bytes ? this.bytes.toString('latin1', 0, this.from) : rebuiltBlock(this.msg);
  }

  /** Decoded on request, so that a reader that skips the message does not pay for it. */
  get body(): Uint8Array | string {
    if (!this.bytes || this.from === 0) return this.msg.data;
    const body = this.bytes.toString('utf8', this.from);
    // The replacement character marks invalid UTF-8. It may also be in the text itself, so the decoder has to check the
    // bytes.
    return body.includes('\ufffd') ? this.msg.data : body;
  }
}

/** The header block, rebuilt from the public interface, for a version of the client with other internals. */
export function rebuiltBlock(msg: Pick<Msg, 'headers'>): string {
  let block = 'NATS/1.0\r\n';
  for (const [key, values] of msg.headers ?? []) for (const value of values) block += `${key}: ${value}\r\n`;
  return `${block}\r\n`;
}
