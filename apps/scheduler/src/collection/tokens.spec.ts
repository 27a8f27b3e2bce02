import { nsFromMs, rfc3339FromNs } from '@waybill/model';
import { MAX_REAPED_TOKENS } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS, MINUTE_MS } from './collecting.fixture.js';

let world: CollectingFixture;
beforeEach(() => {
  world = new CollectingFixture();
});
const agoText = (ms: number): string => rfc3339FromNs(world.ago(ms)) ?? '';
const accessors = (): string[] => [...world.tables.acl_token.all()].map(({ AccessorID }) => AccessorID).toSorted();

describe('tokens', () => {
  it('GC-76: one that has expired goes once it was made an hour ago, and not before', async () => {
    world.token({ AccessorID: 'old' });
    world.token({ AccessorID: 'edge', CreateTime: agoText(HOUR_MS), ExpirationTime: agoText(0) });
    world.token({ AccessorID: 'young', CreateTime: agoText(HOUR_MS - 1), ExpirationTime: agoText(MINUTE_MS) });
    await world.run('local-token-expired-gc');
    expect(accessors()).toEqual(['young']);
  });

  it('GC-78: those without expiry and those that live survive, also a forced collection', async () => {
    world.token({ AccessorID: 'bootstrap', Type: 'management', Global: true, ExpirationTime: null });
    world.token({ AccessorID: 'alive', ExpirationTime: agoText(-1) });
    world.token({ AccessorID: 'gone' });
    await world.run('force-gc');
    expect(accessors()).toEqual(['alive', 'bootstrap']);
  });

  it('GC-78: local and global ones never go together', async () => {
    world.token({ AccessorID: 'here' });
    world.token({ AccessorID: 'everywhere', Global: true });
    await world.run('local-token-expired-gc');
    expect(accessors()).toEqual(['everywhere']);
    await world.run('global-token-expired-gc');
    expect(accessors()).toEqual([]);
    expect(world.reaps).toMatchObject([{ AccessorIDs: ['here'] }, { AccessorIDs: ['everywhere'] }]);
  });

  it('GC-77: the oldest expiry first, no more than 4096 in a run; nothing found, nothing asked', async () => {
    await world.run('local-token-expired-gc');
    expect(world.reaps).toEqual([]);
    const made = MAX_REAPED_TOKENS + 2;
    for (let n = 0; n < made; n++)
      world.token({ AccessorID: fixtures.uuid(n), ExpirationTime: agoText(HOUR_MS + n * 1_000) });
    await world.run('local-token-expired-gc');
    expect(accessors()).toEqual([fixtures.uuid(0), fixtures.uuid(1)]);
  });
});

describe('one-time tokens', () => {
  it('GC-74: all that have expired go in one transaction, which carries the time; no other asks for one', async () => {
    const add = (AccessorID: string, ms: number) =>
      world.tables.one_time_token.replace(AccessorID, fixtures.aOneTimeToken({ AccessorID, ExpiresAt: agoText(ms) }));
    add('alive', -1);
    await world.run('one-time-token-gc');
    expect(world.reaps).toEqual([]);
    add('a', 0);
    add('b', HOUR_MS);
    await world.run('one-time-token-gc');
    expect(world.reaps).toEqual([{ Kind: 'one-time-tokens', ExpiredByNs: nsFromMs(world.time.nowMs()) }]);
    expect([...world.tables.one_time_token.all()].map(({ AccessorID }) => AccessorID)).toEqual(['alive']);
  });
});
