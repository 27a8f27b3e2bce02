import type { RawMessage } from '@waybill/journal';
import type { HashedBlock } from '@waybill/projection';
import { expect, it } from 'vitest';
import { BLOCK_TXNS, type BlockFinding, BlockReading, blockStart } from './block-reading.js';

const message = (index: number, body = `body-${index}`, headers = `Waybill-Time: ${index}\r\n`): RawMessage => ({
  index,
  headers: `NATS/1.0\r\nNats-Msg-Id: request-${index}\r\n${headers}\r\n`,
  body,
});

const log = (first: number, last: number): RawMessage[] =>
  Array.from({ length: last - first + 1 }, (_, i) => message(first + i));

function read(messages: readonly RawMessage[], first: number, last: number, known?: HashedBlock): BlockFinding {
  const reading = new BlockReading(first, last, known);
  for (const one of messages) reading.takeMessage(one);
  return reading.finish();
}

it('blocks begin at the same indexes, wherever the log begins', () => {
  expect([1, 2, BLOCK_TXNS, BLOCK_TXNS + 1, 3 * BLOCK_TXNS].map(blockStart)).toEqual([
    1,
    1,
    1,
    BLOCK_TXNS + 1,
    2 * BLOCK_TXNS + 1,
  ]);
});

it('what is read twice has the same hash, as bytes or as text', () => {
  const { block } = read(log(1, 20), 1, 20);
  expect(block).toMatchObject({ first: 1, last: 20, unreadable: 0, isChanged: false });
  const asBytes = log(1, 20).map((one) => ({ ...one, body: Buffer.from(one.body) }));
  expect(read(asBytes, 1, 20, block)).toEqual({ missing: [], block });
});

it.each([
  ['a body', message(7, 'body-8')],
  ['a request id', { ...message(7), headers: message(8).headers }],
  ['a time', message(7, 'body-7', 'Waybill-Time: 8\r\n')],
  ['a type', message(7, 'body-7', 'Waybill-Time: 7\r\nWaybill-Type: 5\r\n')],
  ['the end of a header that moved into the body', message(7, '7body-7', 'Waybill-Time: \r\n')],
])('%s that is not what it was makes another hash, and the first one is kept', (_what, changed) => {
  const { block } = read(log(1, 20), 1, 20);
  const again = read(log(1, 20).with(6, changed), 1, 20, block);
  expect(again).toEqual({ missing: [], block: { ...block, isChanged: true } });
  expect(read(log(1, 20), 1, 20, again.block).block).toEqual(block);
});

it('headers that say how a message was stored, and not what it is, do not count', () => {
  const { block } = read(log(1, 20), 1, 20);
  const other = message(7, 'body-7', 'Waybill-Time: 7\r\nNats-Expected-Last-Sequence: 6\r\n');
  expect(read(log(1, 20).with(6, other), 1, 20, block).block.isChanged).toBe(false);
});

it('a block that has grown is compared as far as it went', () => {
  const { block } = read(log(1, 20), 1, 20);
  const grown = read(log(1, 30), 1, 30, block);
  expect(grown.block).toMatchObject({ last: 30, isChanged: false });
  expect(read(log(1, 30).with(2, message(3, 'x')), 1, 30, block).block).toEqual({ ...block, isChanged: true });
  expect(read(log(1, 30).with(24, message(25, 'x')), 1, 30, block).block.isChanged).toBe(false);
});

it('what the server leaves out is named; the known hash waits until it can be read again', () => {
  const { block } = read(log(1, 20), 1, 20);
  const holed = log(1, 20).filter(({ index }) => index !== 3 && (index < 10 || index > 12));
  const found = read(holed, 1, 20, block);
  expect(found.missing).toEqual([
    { first: 3, last: 3 },
    { first: 10, last: 12 },
  ]);
  expect(found.block).toEqual({ ...block, unreadable: 4 });
  expect(read(log(1, 20), 1, 20, found.block).block).toEqual(block);
  expect(read(log(1, 20).with(4, message(5, 'x')), 1, 20, found.block).block.isChanged).toBe(true);
});

it('what is missing at the end of a block shows with the next message, or with the end of the log', () => {
  const missing = [{ first: 19, last: 20 }];
  expect(read([...log(1, 18), message(23)], 1, 20)).toMatchObject({ missing, block: { digest: '', unreadable: 2 } });
  expect(read(log(1, 18), 1, 20).missing).toEqual(missing);
  expect(read([], 1, 20).missing).toEqual([{ first: 1, last: 20 }]);
});

it('a block whose beginning was trimmed has no other hash, and is looked through for holes', () => {
  const { block } = read(log(1, 20), 1, 20);
  expect(read(log(5, 20), 5, 20, block)).toEqual({ missing: [], block });
  expect(read(log(5, 20).toSpliced(3, 1), 5, 20, block).block).toEqual({ ...block, unreadable: 1 });
});
