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

describe('raw messages', () => {
  it('reads stream sequence and delivery number from both forms of the reply subject', () => {
    expect(deliveryOf(publicMsg('$JS.ACK.TXN.c1.1.42.7.1700000000.0'))).toEqual({ sequence: 42, number: 7 });
    expect(deliveryOf(publicMsg('$JS.ACK._.acc.TXN.c1.1.42.7.1700000000.0'))).toEqual({ sequence: 42, number: 7 });
    expect(deliveryOf(publicMsg('$JS.ACK._.acc.TXN.c1.1.42.7.1700000000.0.rnd'))).toEqual({ sequence: 42, number: 7 });
    expect(deliveryOf(publicMsg('$JS.FC.TXN.c1.x'))).toBeUndefined();
    expect(deliveryOf(publicMsg(''))).toBeUndefined();
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
