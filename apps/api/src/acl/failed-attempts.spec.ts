import { FakeTime } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { ApiError, badRequest, serverFailure, unavailable } from '../http/api-error.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { FailedAttempts } from './failed-attempts.js';

const from = (address: string) => ({ raw: { socket: { remoteAddress: address } } }) as unknown as ApiRequest;

describe('attempts to get a token from calls that need none', () => {
  const attempted = async (attempts: FailedAttempts, outcome: Error | undefined, address = '10.0.0.1') => {
    const headers: Record<string, unknown> = {};
    const reply = { header: (name: string, value: unknown) => (headers[name] = value) } as unknown as ApiReply;
    try {
      await attempts.guard(from(address), reply, async () => {
        if (outcome) throw outcome;
      });
      return { text: 'done', headers };
    } catch (error) {
      return { text: (error as Error).message, status: (error as ApiError).status, headers };
    }
  };

  it('AU-8: after ten failures within a minute the next is answered 429, whatever it is; others are not', async () => {
    const clock = new FakeTime();
    const attempts = new FailedAttempts(10, clock);
    for (let n = 0; n < 10; n++) {
      expect((await attempted(attempts, badRequest('no'))).text).toBe('no');
      clock.freeze(1_000);
    }
    expect(await attempted(attempts, undefined)).toEqual({
      text: 'too many failed attempts from this address; try again in 50 s',
      status: 429,
      headers: { 'Retry-After': 50 },
    });
    expect((await attempted(attempts, undefined, '10.0.0.2')).text).toBe('done');
    clock.freeze(50_000);
    expect((await attempted(attempts, undefined)).text).toBe('done');
  });

  it('AU-8: a success does not count, nor what the server cannot do now, nor a refusal for its own limits', async () => {
    const attempts = new FailedAttempts(1, new FakeTime());
    for (const outcome of [undefined, unavailable('later'), new ApiError(429, 'full'), new TypeError('a bug')])
      expect((await attempted(attempts, outcome)).text).toBe(outcome?.message ?? 'done');
    expect((await attempted(attempts, serverFailure('wrong code'))).text).toBe('wrong code');
    expect((await attempted(attempts, undefined)).status).toBe(429);
  });

  it('AU-8: 0 is no limit', async () => {
    const attempts = new FailedAttempts(0, new FakeTime());
    for (let n = 0; n < 50; n++) expect((await attempted(attempts, badRequest('no'))).text).toBe('no');
  });
});
