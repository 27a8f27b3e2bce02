import { MAX_TRACEPARENT_CHARS } from '@waybill/model';
import { draftTxn, fixtures, MAX_STEP_TIMES, StateMachine } from '@waybill/state';
import type { TxnDraft } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { BadTxnError, UnknownTxnError } from './errors.js';
import { decodeTxn, encodeTxn, readTxn } from './txn-codec.js';

const plain: TxnDraft = draftTxn(
  'NodeDeregister',
  { NodeID: 'n1' },
  {
    timeNs: 1_767_225_600_000 * 1e6,
    requestId: 'b8b1d3c0-0000-4000-8000-000000000001',
    actor: { Kind: 'token', ID: 'u1', Name: 'Jürgen 🚢' },
    namespace: 'default',
    reason: 'planned',
    fence: { role: 'nodes', epoch: 7 },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
);

const roundTrip = (draft: TxnDraft) => {
  const { headers, body } = encodeTxn(draft);
  return decodeTxn(12, headers, body);
};

/** The header block of `plain` with one header replaced. */
const withHeader = (name: string, value: string): string =>
  encodeTxn(plain).headers.replace(new RegExp(`${name}: .*\r\n`), `${name}: ${value}\r\n`);

describe('the codec of transactions', () => {
  it('a plan that places a thousand allocations is compact, and is read as it was', () => {
    const placed = Array.from({ length: 1_000 }, () => ({ ...fixtures.anAlloc(), Job: null }));
    const plan = draftTxn('ApplyPlanResults', fixtures.aPlanResult({ AllocsUpdated: placed }), plain);
    expect(encodeTxn(plan).body.length).toBeLessThan(JSON.stringify(plan.payload).length / 4);
    expect(roundTrip(plan).payload).toStrictEqual(plan.payload);
  });

  it('ST-8: a plan of a schema version from before 0.1.0 is refused, and the error says so', () => {
    const plan = draftTxn('ApplyPlanResults', fixtures.aPlanResult({}), plain);
    const { headers, body } = encodeTxn({ ...plan, schemaVersion: 2 });
    expect(() => decodeTxn(12, headers, body)).toThrow(/schema version 2, which was written before version 0\.1\.0/);
  });

  const stepTimes = 'e1@1772359200009 enqueued-4+4 dequeued0:1; e2@1772359200009 dequeued0:1';
  const STEPS_HEADER = `Waybill-Steps: ${stepTimes}\r\n`;

  it('CL-1065: the times of steps are a header of their own, by which no writer differs from another', () => {
    for (const draft of [plain, { ...plain, traceparent: undefined, fence: undefined, reason: '' }]) {
      const { headers, body } = encodeTxn({ ...draft, stepTimes });
      expect(headers).toContain(STEPS_HEADER);
      expect(headers.replace(STEPS_HEADER, '')).toBe(encodeTxn(draft).headers);
      expect(decodeTxn(12, headers, body)).toEqual({ ...draft, stepTimes, index: 12 });
      expect(decodeTxn(12, headers.replace('NATS/1.0\r\n', 'NATS/1.0\r\nOther: x\r\n'), body).stepTimes).toBe(
        stepTimes,
      );
    }
  });

  it('CL-1047: times that could not stand in a header, or are too long, are not written', () => {
    for (const bad of ['a\r\nWaybill-Type: 7', 'ü', '50%', ' x', 'x'.repeat(MAX_STEP_TIMES + 1)])
      expect(encodeTxn({ ...plain, stepTimes: bad }).headers).toBe(encodeTxn(plain).headers);
  });

  it("CL-1047: bad times of another writer's are no error, in whichever order its headers are", () => {
    const { headers, body } = encodeTxn({ ...plain, stepTimes });
    for (const bad of ['%zz', '', ':', '\xff', 'x'.repeat(MAX_STEP_TIMES + 1)])
      for (const first of ['', 'Other: x\r\n']) {
        const block = headers.replace(STEPS_HEADER, `Waybill-Steps: ${bad}\r\n`).replace('Waybill-Type', `${first}$&`);
        const read = decodeTxn(12, block, body);
        expect({ ...read, stepTimes: undefined }).toEqual({ ...plain, index: 12 });
        expect(read.stepTimes?.length ?? 0).toBeLessThan(MAX_STEP_TIMES);
      }
  });

  it('brings every field of the envelope back, with the index of the message', () => {
    expect(roundTrip(plain)).toEqual({ ...plain, index: 12 });
  });

  it('reads headers in any order, with others among them, the same', () => {
    const { headers, body } = encodeTxn(plain, { expectedLastSubjectSequence: 4 });
    const lines = headers.trim().split('\r\n').slice(1);
    const shuffled = ['NATS/1.0', 'Future: 1', ...lines.toReversed(), 'Other:x', '', ''].join('\r\n');
    expect(decodeTxn(12, shuffled, body)).toEqual(decodeTxn(12, headers, body));
    expect(decodeTxn(12, headers, body)).toEqual({ ...plain, index: 12 });
  });

  it('leaves out what is empty, and brings it back as empty', () => {
    const bare = draftTxn(
      'Initialise',
      {},
      { timeNs: 0, requestId: 'r', actor: { Kind: 'anonymous', ID: '', Name: '' }, region: '' },
    );
    expect(encodeTxn(bare).headers).not.toMatch(/Namespace|Region|Reason|Role|Epoch|traceparent/);
    expect(roundTrip(bare)).toEqual({ ...bare, index: 12 });
  });

  it.each([
    'two\r\nlines',
    'Waybill-Type: 7\r\n\r\n',
    '\r\n\r\n',
    ' around ',
    '100 %',
    '%41',
    'ünïcödé 語 🚢',
    ':',
    '\0\x7f',
  ])('carries the reason %j unharmed, as one line of ASCII', (reason) => {
    const { headers } = encodeTxn({ ...plain, reason });
    expect(headers).toMatch(/^[\x20-\x7e\r\n]*$/);
    expect(headers.trim().split('\r\n')).toHaveLength(encodeTxn(plain).headers.trim().split('\r\n').length);
    expect(roundTrip({ ...plain, reason }).reason).toBe(reason);
  });

  it('does not fail on half a surrogate pair', () => {
    expect(roundTrip({ ...plain, reason: 'x\ud800' }).reason).toBe('x\ufffd');
  });

  it('a trace context that no tracer writes, and that no index could hold, is neither written nor read', () => {
    const longest = 'x'.repeat(MAX_TRACEPARENT_CHARS);
    expect(roundTrip({ ...plain, traceparent: longest }).traceparent).toBe(longest);
    expect(encodeTxn({ ...plain, traceparent: `${longest}x` }).headers).not.toContain('traceparent');
    const { body } = encodeTxn(plain);
    expect(decodeTxn(12, withHeader('traceparent', `${longest}x`), body).traceparent).toBeUndefined();
  });

  it('a time or epoch beyond what can be stored is read as the largest that can be', () => {
    const { body } = encodeTxn(plain);
    const largest = 2 ** 63 - 1_024;
    expect(decodeTxn(12, withHeader('Waybill-Time', '1e300'), body).timeNs).toBe(largest);
    expect(decodeTxn(12, withHeader('Waybill-Epoch', '9223372036854775807'), body).fence?.epoch).toBe(largest);
    expect(roundTrip({ ...plain, timeNs: largest }).timeNs).toBe(largest);
  });

  it.each(['"text"', 'null', '[[]]', '{"Kind":"root","ID":"","Name":""}', '{"Kind":"token","ID":5,"Name":""}'])(
    'an actor of another form (%s) is nobody, and stops no reader',
    (actor) => {
      const { body } = encodeTxn(plain);
      const read = decodeTxn(12, withHeader('Waybill-Actor', actor), body);
      expect(read.actor).toEqual({ Kind: 'anonymous', ID: '', Name: '' });
    },
  );

  it('ST-8: an unknown type with bit 128 comes back as Ignore, an unknown one without it is an error', () => {
    const { body } = encodeTxn(plain);
    const skipped = decodeTxn(1, withHeader('Waybill-Type', '200').replace(/(?<=Schema: )1/, '2'), body);
    expect(skipped).toMatchObject({ index: 1, type: 'Ignore', payload: {} });
    expect(new StateMachine().apply({ ...skipped, fence: undefined }).verdict.kind).toBe('noop'); // whatever its schema
    const unknown = () => decodeTxn(5, withHeader('Waybill-Type', '90'), body);
    expect(unknown).toThrow(UnknownTxnError);
    expect(unknown).toThrow(/transaction 5 has the unknown type 90/);
  });

  it('what the reader does not look at comes back as Ignore, and its body is not read', () => {
    const written = {
      headers: encodeTxn(plain).headers,
      get body(): string {
        throw new Error('the body was read');
      },
    };
    const { fence, requestId, timeNs } = plain;
    const read = readTxn(5, written, new Set(['LeaseAcquired'] as const));
    expect(read).toMatchObject({ index: 5, type: 'Ignore', payload: {}, fence, requestId, timeNs });
    expect(() => readTxn(5, written, new Set(['NodeDeregister'] as const))).toThrow(/the body was read/);
  });

  it('ST-8: what cannot be decoded is an error that names the index', () => {
    const { headers, body } = encodeTxn(plain);
    const bad = [
      () => decodeTxn(5, headers, Buffer.from('{"NodeID":')),
      () => decodeTxn(5, headers, Buffer.from([0x7b, 0xff, 0x7d])),
      () => decodeTxn(5, headers, Buffer.from('[]')),
      () => decodeTxn(5, headers, new Uint8Array()),
      () => decodeTxn(5, '', body),
      () => decodeTxn(5, withHeader('Waybill-Type', 'one'), body),
      () => decodeTxn(5, withHeader('Waybill-Time', ''), body),
      () => decodeTxn(5, withHeader('Waybill-Actor', '{'), body),
      () => decodeTxn(5, withHeader('Waybill-Role', 'king'), body),
      () => decodeTxn(5, withHeader('Waybill-Epoch', '-1'), body),
      () => decodeTxn(5, withHeader('Waybill-Reason', '%zz'), body),
      () => decodeTxn(5, withHeader('Waybill-Schema', '99'), body),
    ];
    for (const decode of bad) {
      expect(decode).toThrow(BadTxnError);
      expect(decode).toThrow(/transaction 5 /);
    }
  });

  it('ND-170: without a type a message is an error, not the registration of a node, whose number is 0', () => {
    const { headers, body } = encodeTxn(plain);
    for (const type of [/Waybill-Type: \d+\r\n/, /(?<=Waybill-Type: )\d+/])
      expect(() => decodeTxn(12, headers.replace(type, ''), body)).toThrow(BadTxnError);
  });

  it('retired numbers are accepted and ignored', () => {
    expect(decodeTxn(5, withHeader('Waybill-Type', '8'), new Uint8Array()).type).toBe('Ignore');
  });
});
