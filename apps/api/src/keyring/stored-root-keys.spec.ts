import { FakeTime, type RootKey } from '@waybill/model';
import { ProjectionFeed } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { AWAIT_MS } from '../access/awaited-reads.js';
import { storedRootKeys } from './stored-root-keys.js';

let time: FakeTime;
let stored: RootKey[];
let reads: number;
let keys: ReturnType<typeof storedRootKeys>;

beforeEach(() => {
  time = new FakeTime();
  [stored, reads] = [[fixtures.aRootKey({ KeyID: 'first', State: 'active' })], 0];
  const record = { appliedIndex: () => Promise.resolve(0), txnVerdict: () => Promise.resolve(undefined) };
  const feed = new ProjectionFeed({ record, clock: time, timers: time });
  const model = {
    tableIndex: () => Promise.resolve(1),
    keyring: {
      keys: () => {
        reads++;
        return Promise.resolve({ index: 1, rows: [...stored], nextToken: '' });
      },
    },
  };
  keys = storedRootKeys({ model: model as never, feed, clock: time });
});

describe('the root keys of an API', () => {
  it('OP-206: a key that no announcement told of is found, and known from then on', async () => {
    expect((await keys.find('first'))?.KeyID).toBe('first');
    stored = [...stored, fixtures.aRootKey({ KeyID: 'second', State: 'prepublished' })];
    expect((await keys.find('second'))?.KeyID).toBe('second');
    const before = reads;
    expect([...(await keys.all())].map(({ KeyID }) => KeyID)).toEqual(['first', 'second']);
    expect((await keys.find('second'))?.KeyID).toBe('second');
    expect([reads, time.pending]).toEqual([before, 0]);
  });

  it('AU-144: a key that does not exist is waited for, and not found', async () => {
    let found: unknown = 'none yet';
    void Promise.resolve(keys.find('unknown')).then((key) => (found = key));
    await time.pass(AWAIT_MS - 1);
    expect(found).toBe('none yet');
    await time.pass(1);
    expect(found).toBeUndefined();
  });
});
