import { FakeTime, Refusal } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { RECORDED_REFUSALS, RefusedNodes } from './refused-nodes.js';

it('AU-281: refused machines are recorded, and a flood of them does not displace other records', () => {
  const time = new FakeTime();
  const events: unknown[] = [];
  let unrecorded = 0;
  const refused = new RefusedNodes({ record: (event) => events.push(event) }, time, () => unrecorded++);
  const node = fixtures.aNode({ Name: 'm1' });
  const refuse = (): void => refused.record(node, new Refusal('forbidden', 'no'));
  for (let n = 0; n < RECORDED_REFUSALS.burst + 5; n++) refuse();
  expect([events.length, unrecorded]).toEqual([RECORDED_REFUSALS.burst, 5]);
  time.freeze(1_000);
  refuse();
  expect(events.at(-1)).toEqual({
    Kind: 'registration',
    NodeID: node.ID,
    NodeName: 'm1',
    Error: { Code: 'forbidden', Text: 'no' },
  });
  expect(events).toHaveLength(RECORDED_REFUSALS.burst + 1);
});
