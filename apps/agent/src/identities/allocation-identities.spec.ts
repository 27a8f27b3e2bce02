import { FakeTime, Refusal, settle } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { AllocationIdentities, FIRST_ATTEMPTS, FIRST_RETRY_MS, type KeptToken } from './allocation-identities.js';
import type { WantedIdentity } from './wanted-identities.js';

const HOUR = 3_600_000;
const AWS: WantedIdentity = { task: 'web', identity: 'aws', expires: true };
const GCP: WantedIdentity = { task: 'web', identity: 'gcp', expires: true };
const DEFAULT: WantedIdentity = { task: 'web', identity: 'default', expires: false };
const never = new AbortController().signal;

/** Makes an allocation whose tokens count their renewals: `aws 1`, `aws 2`. */
function setup(wanted: readonly WantedIdentity[], validMs = HOUR, random = 0) {
  const time = new FakeTime();
  const asked: string[][] = [];
  const saved: (readonly KeptToken[])[] = [];
  let failing: Error | undefined;
  const identities: AllocationIdentities = new AllocationIdentities({
    allocId: 'a',
    index: () => 7,
    wanted,
    signer: async (_, minIndex, requests) => {
      expect(minIndex).toBe(7);
      asked.push(requests.map(({ identity }) => identity));
      if (failing) throw failing;
      const jwtOf = (identity: string) => (identity === 'default' ? identity : `${identity} ${asked.length}`);
      return requests.map(({ task, identity }) => ({
        task,
        identity,
        jwt: jwtOf(identity),
        validMs: identity === 'default' ? null : validMs,
      }));
    },
    clock: time,
    timers: time,
    random: () => random,
    logger: silentLogger,
    save: async () => void saved.push(identities.record()),
  });
  const heard: string[] = [];
  const hear = (task: string, as: 'start' | 'restored' = 'start', signal = never) =>
    identities.watch(task, (names) => void heard.push(`${task}: ${names.join(' ')}`), as, signal);
  const fail = (error?: Error): void => {
    failing = error;
  };
  return { time, identities, asked, saved, heard, hear, fail };
}

describe('the first tokens of an allocation', () => {
  it('AU-151: are fetched in one request, and are not told as renewed', async () => {
    const { identities, asked, heard, hear } = setup([AWS, GCP, DEFAULT]);
    hear('web');
    await identities.prepare();
    expect(asked).toEqual([['aws', 'gcp', 'default']]);
    expect(identities.token('web', 'gcp')).toBe('gcp 1');
    expect(heard).toEqual([]);
  });

  it('AU-151: a rejection fails the preparation at once', async () => {
    const { identities, asked, fail } = setup([AWS]);
    fail(new Error('1/1 signing request was rejected: identity not found'));
    await expect(identities.prepare()).rejects.toThrow(
      'failed to fetch signed identities: 1/1 signing request was rejected: identity not found',
    );
    expect(asked).toHaveLength(1);
  });

  it('AU-151: servers that do not answer are asked again for a while', async () => {
    const { time, identities, asked, fail } = setup([AWS]);
    fail(new Refusal('unavailable', 'not yet'));
    const prepared = identities.prepare();
    await time.pass(FIRST_RETRY_MS);
    fail();
    await time.pass(FIRST_RETRY_MS);
    await prepared;
    expect(asked).toHaveLength(3);
    const never = setup([AWS]);
    never.fail(new Refusal('unavailable', 'not yet'));
    const failed = expect(never.identities.prepare()).rejects.toThrow('failed to fetch signed identities: not yet');
    await never.time.pass(FIRST_ATTEMPTS * FIRST_RETRY_MS);
    await failed;
    expect(never.asked).toHaveLength(FIRST_ATTEMPTS);
  });
});

describe('renewal', () => {
  it('AU-153: all that expire are renewed together at half of their time, written, and then told', async () => {
    const { time, identities, asked, saved, heard, hear } = setup([AWS, GCP, DEFAULT]);
    hear('web');
    await identities.prepare();
    await time.pass(HOUR / 2 - 1);
    expect(asked).toHaveLength(1);
    await time.pass(1);
    expect(asked).toEqual([
      ['aws', 'gcp', 'default'],
      ['aws', 'gcp'],
    ]);
    expect(heard).toEqual(['web: aws gcp']);
    expect(saved.at(-1)?.map(({ jwt }) => jwt)).toEqual(['aws 2', 'gcp 2', 'default']);
    await time.pass(HOUR / 2);
    expect(heard).toHaveLength(2);
  });

  it('AU-327, AU-326: a token of a second is renewed every 10 to 11 s', async () => {
    const { time, identities, asked } = setup([AWS], 1_000, 0.5);
    await identities.prepare();
    await time.pass(60_000);
    expect(asked.length - 1).toBe(Math.floor(60_000 / 10_500));
  });

  it('AU-154: a failed renewal leaves the old token, is tried ever more patiently, and a success resets that', async () => {
    const { time, identities, asked, heard, hear, fail } = setup([AWS]);
    hear('web');
    await identities.prepare();
    fail(new Error('no'));
    await time.pass(HOUR / 2);
    expect(asked).toHaveLength(2);
    expect(identities.token('web', 'aws')).toBe('aws 1');
    await time.pass(19_999);
    expect(asked).toHaveLength(2);
    await time.pass(1);
    expect(asked).toHaveLength(3);
    await time.pass(40_000);
    expect(asked).toHaveLength(4);
    fail();
    await time.pass(80_000);
    expect(heard).toEqual(['web: aws']);
    fail(new Error('again'));
    await time.pass(HOUR / 2 + 20_000);
    expect(asked).toHaveLength(7);
  });

  it('AU-155: ends when the allocation is closed, also while a request is on its way', async () => {
    const { time, identities, asked, saved, heard, hear } = setup([AWS]);
    hear('web');
    await identities.prepare();
    time.pass(HOUR / 2).catch(() => {});
    identities.close();
    await time.pass(10 * HOUR);
    expect(heard).toEqual([]);
    expect(saved).toEqual([]);
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it('nothing that never expires is renewed', async () => {
    const { time, identities, asked } = setup([DEFAULT]);
    await identities.prepare();
    await time.pass(1_000 * HOUR);
    expect(asked).toHaveLength(1);
  });
});

describe('after a restart of the agent', () => {
  const kept = (expiresAtMs: number): KeptToken => ({ task: 'web', identity: 'aws', jwt: 'old', expiresAtMs });

  it('AU-324, AU-152: valid tokens cause no request and no action', async () => {
    const { time, identities, asked, heard, hear } = setup([AWS]);
    identities.restore([kept(time.nowMs() + HOUR)]);
    hear('web', 'restored');
    await identities.prepare();
    await settle();
    expect(asked).toEqual([]);
    expect(heard).toEqual([]);
    expect(identities.token('web', 'aws')).toBe('old');
    await time.pass(HOUR / 2);
    expect(heard).toEqual(['web: aws']);
  });

  it.each([true, false])('AU-325: an expired one is fetched once and told once (heard first: %s)', async (first) => {
    const { time, identities, asked, heard, hear } = setup([AWS]);
    identities.restore([kept(time.nowMs() - 1)]);
    if (first) hear('web', 'restored');
    await identities.prepare();
    if (!first) hear('web', 'restored');
    await settle();
    expect(asked).toHaveLength(1);
    expect(heard).toEqual(['web: aws']);
  });

  it('AU-160: a task that starts after a renewal has the new token and is not told', async () => {
    const { time, identities, heard, hear } = setup([AWS]);
    identities.restore([kept(time.nowMs() - 1)]);
    await identities.prepare();
    hear('web');
    hear('web', 'restored');
    expect(heard).toEqual([]);
  });

  it('AU-154: servers that are away do not end what runs', async () => {
    const { time, identities, asked, heard, hear, fail } = setup([AWS]);
    identities.restore([kept(time.nowMs() - 1)]);
    hear('web', 'restored');
    fail(new Refusal('unavailable', 'away'));
    await identities.prepare();
    expect(identities.token('web', 'aws')).toBe('old');
    fail();
    await time.pass(20_000);
    expect(asked).toHaveLength(2);
    expect(heard).toEqual(['web: aws']);
  });
});
