import { FakeTime } from '@waybill/model';
import { beforeEach, expect, it } from 'vitest';
import { KeyServiceError } from '../key-service-error.js';
import { LONGEST_RETRY_MS, LOOK_AGAIN_MS, TokenRenewal } from './token-renewal.js';
import type { TransitAnswer } from './transit-answer.js';

const HOUR_S = 3_600;
const DENIED = 'permission denied';

let time: FakeTime;
let renewal: TokenRenewal;
/** The token in the file, and its life in the view of the service. */
let token: string;
let life: { endsMs: number | null; ttlS: number; renewable: boolean; longestMs: number };
let isAway: boolean;
let refused: boolean;
let asked: string[];
let logged: string[];

const answer = (status: number, body: object): TransitAnswer => ({ status, text: JSON.stringify(body) });
const leftS = (): number => (life.endsMs === null ? 0 : Math.round((life.endsMs - time.nowMs()) / 1_000));

beforeEach(() => {
  time = new FakeTime();
  [token, isAway, refused, asked, logged] = ['first', false, false, [], []];
  life = { endsMs: time.nowMs() + HOUR_S * 1_000, ttlS: HOUR_S, renewable: true, longestMs: Infinity };
  renewal = new TokenRenewal({
    token: () => Promise.resolve(token),
    call: (operation, sent) => {
      asked.push(`${operation} ${sent}`);
      if (isAway) return Promise.reject(new KeyServiceError('away'));
      if (refused || (life.endsMs !== null && life.endsMs <= time.nowMs()))
        return Promise.resolve(answer(403, { errors: [DENIED] }));
      if (operation === 'renew-self') {
        life.endsMs = Math.min(time.nowMs() + life.ttlS * 1_000, life.longestMs);
        return Promise.resolve(answer(200, { auth: { lease_duration: leftS(), renewable: life.renewable } }));
      }
      const expire_time = life.endsMs === null ? null : new Date(life.endsMs).toISOString();
      return Promise.resolve(answer(200, { data: { ttl: leftS(), renewable: life.renewable, expire_time } }));
    },
    timers: time,
    logger: {
      info: (message) => void logged.push(`info: ${message}`),
      warn: (message, { error }) => void logged.push(`warn: ${message}${error === undefined ? '' : ` (${error})`}`),
    },
  });
});

it('OP-210: a token is renewed at half of its life, and so works for longer than its time to live', async () => {
  await renewal.start();
  await time.pass((HOUR_S / 2) * 1_000 - 1);
  expect(asked).toEqual(['lookup-self first']);
  await time.pass(1);
  expect(asked).toEqual(['lookup-self first', 'renew-self first']);
  await time.pass(10 * HOUR_S * 1_000);
  expect([asked.length, leftS() >= HOUR_S / 2]).toEqual([1 + 21, true]);
  expect(logged).toEqual(['info: the token of the key management service is renewed']);
  renewal.stop();
  expect(time.pending).toBe(0);
});

it('a token without an end, or one that is not renewable, is not renewed, and the log says of the second that it ends', async () => {
  life = { ...life, endsMs: null, renewable: false };
  await renewal.start();
  await time.pass(HOUR_S * 1_000);
  expect([asked, logged]).toEqual([['lookup-self first'], []]);

  [token, life] = ['second', { ...life, endsMs: time.nowMs() + HOUR_S * 1_000 }];
  await time.pass(10 * LOOK_AGAIN_MS);
  expect(asked.slice(1)).toEqual(['lookup-self second']);
  expect(logged).toEqual([
    'warn: the token of the key management service expires and cannot be renewed; replace it in time',
  ]);
});

it('a renewal that gives less than the one before has reached the longest life, which the log says once', async () => {
  life.longestMs = time.nowMs() + 1.2 * HOUR_S * 1_000;
  await renewal.start();
  await time.pass(HOUR_S * 1_000);
  expect(logged.slice(1)).toEqual([
    'warn: the token of the key management service reaches its longest life; replace it in time',
  ]);
  await time.pass(0.3 * HOUR_S * 1_000);
  expect(logged.slice(2)).toEqual([
    `warn: the token of the key management service could not be renewed (the key management service answered 403 to renew-self: ${DENIED})`,
  ]);
  [token, life] = ['second', { ...life, endsMs: time.nowMs() + HOUR_S * 1_000, longestMs: Infinity }];
  asked.length = 0;
  await time.pass(LONGEST_RETRY_MS);
  expect(asked).toEqual(['lookup-self second']);
});

it('a service that is away is asked again while the token still lives, and told of once', async () => {
  await renewal.start();
  isAway = true;
  await time.pass((HOUR_S / 2) * 1_000 + 3 * LONGEST_RETRY_MS);
  expect(logged.slice(1)).toEqual(['warn: the token of the key management service could not be renewed (away)']);
  isAway = false;
  await time.pass(LONGEST_RETRY_MS);
  // The life may be another one by now, so it is looked up before the next renewal.
  expect(asked.at(-1)).toBe('lookup-self first');
  await time.pass((HOUR_S / 4) * 1_000);
  expect(asked.at(-1)).toBe('renew-self first');
  await time.pass(5 * HOUR_S * 1_000);
  expect(leftS()).toBeGreaterThanOrEqual(HOUR_S / 2);
});

it('a token that may not look itself up is reported with the reason of the service', async () => {
  refused = true;
  await renewal.start();
  expect(logged).toEqual([
    `warn: the token of the key management service could not be renewed (the key management service answered 403 to lookup-self: ${DENIED})`,
  ]);
});

it.each([
  ['lookup-self', { data: {} }, 'the answer to lookup-self has no ttl'],
  ['lookup-self', null, 'the answer to lookup-self has no ttl'],
])('a wrong answer to %s is a failure: %j', async (_, body, reason) => {
  const odd = new TokenRenewal({
    token: () => Promise.resolve(token),
    call: () => Promise.resolve({ status: 200, text: JSON.stringify(body) }),
    timers: time,
    logger: { info: () => {}, warn: (_message, { error }) => void logged.push(error ?? '') },
  });
  await odd.start();
  expect(logged).toEqual([reason]);
});
