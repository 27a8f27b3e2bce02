import { MsgHdrsImpl, type Msg } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { deliveryOf, MessageText, rebuiltBlock } from './raw-message.js';
import { decodeTxn, encodeTxn } from './txn-codec.js';
import { draftTxn, serviceActor } from '@waybill/state';

const draft = draftTxn(
  'NodeDeregister',
  { NodeID: 'ö \ufffd 🚢' },
  { timeNs: 1, requestId: 'r', actor: serviceActor('test'), namespace: 'default', reason: 'a, b: c' },
);
const { headers, body } = encodeTxn(draft);

/** What the public interface gives. */
const publicMsg = (reply: string): Msg => ({
  subject: 'x',
  sid: 1,
  reply,
  data: body,
  headers: MsgHdrsImpl.decode(Buffer.from(headers)),
  respond: () => false,
  json: () => JSON.parse(body.toString()),
  string: () => body.toString(),
});
const rawMsg = (bytes: Buffer): Msg =>
  Object.assign(publicMsg(''), { _rdata: bytes, _msg: { hdr: headers.length }, data: bytes.subarray(headers.length) });

const rawReply = (reply: string): Msg =>
  Object.assign(publicMsg('not looked at'), { _rdata: body, _msg: { hdr: -1, reply: Buffer.from(reply) } });

describe('raw messages', () => {
  it('reads stream sequence and delivery number from both forms of the reply subject, raw or through the interface', () => {
    for (const of of [publicMsg, rawReply]) {
      const numbers = { sequence: 1_234_567, number: 7 };
      expect(deliveryOf(of('$JS.ACK.TXN.c1.1.1234567.7.1700000000.0'))).toEqual(numbers);
      expect(deliveryOf(of('$JS.ACK._.acc.TXN.c1.1.1234567.7.1700000000.0'))).toEqual(numbers);
      expect(deliveryOf(of('$JS.ACK._.acc.TXN.c1.1.1234567.7.1700000000.0.rnd'))).toEqual(numbers);
      expect(deliveryOf(of('$JS.FC.TXN.c1.x'))).toBeUndefined();
      expect(deliveryOf(of(''))).toBeUndefined();
    }
  });

  it('decodes the same transaction from the raw bytes and from the public interface', () => {
    const raw = new MessageText(rawMsg(Buffer.concat([Buffer.from(headers), body])));
    expect(raw.headers).toBe(headers);
    expect(decodeTxn(1, raw.headers, raw.body)).toEqual({ ...draft, index: 1 });
    const rebuilt = new MessageText(publicMsg(''));
    expect(rebuilt.headers).toBe(rebuiltBlock(publicMsg('')));
    expect(decodeTxn(1, rebuilt.headers, rebuilt.body)).toEqual({ ...draft, index: 1 });
  });

  it('ST-8: a body that is no UTF-8 does not pass as one', () => {
    const broken = new MessageText(
      rawMsg(Buffer.concat([Buffer.from(headers), Buffer.from('{"NodeID":"\xff"}', 'latin1')])),
    );
    expect(() => decodeTxn(1, broken.headers, broken.body)).toThrow(/cannot be decoded/);
  });
});
