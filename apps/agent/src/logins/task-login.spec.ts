import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { FakeLoginService } from '../fixtures/login-service.js';
import { WAIT_NOTICE_MS } from '../waiting/wait-notice.js';
import { CHECK_PERIOD_MS, type HeldToken, LOGIN_RETRY_MS, LONGEST_LOGIN_RETRY_MS, TaskLogin } from './task-login.js';

function setup(over: { keepsAlive?: boolean; jwt?: () => string | undefined } = {}) {
  const time = new FakeTime();
  const service = new FakeLoginService();
  const saved: HeldToken[] = [];
  const emitted: string[] = [];
  const login = new TaskLogin({
    service,
    jwt: over.jwt ?? (() => 'jwt'),
    identity: 'vault_default',
    keepsAlive: over.keepsAlive ?? true,
    clock: time,
    timers: time,
    random: () => 0,
    logger: silentLogger,
    fields: {},
    emit: (message) => emitted.push(message),
    save: async (held) => void saved.push(held),
  });
  const signal = new AbortController().signal;
  const changes: (string | undefined)[] = [];
  login.watch(() => changes.push(login.token), signal);
  const ready = (until = signal): Promise<string> => login.ready(until);
  return { ready, time, service, login, saved, emitted, changes };
}

describe('the token of a task', () => {
  it('AU-165: comes from one login with the identity, and is kept on the disk', async () => {
    const { ready, service, saved, time, changes } = setup();
    expect(await Promise.all([ready(), ready()])).toEqual(['token 1', 'token 1']);
    expect(await ready()).toBe('token 1');
    expect(service.requests).toEqual(['login jwt']);
    expect(saved).toEqual([{ token: 'token 1', renewable: true, expiresAtMs: time.nowMs() + 60_000, lifeMs: 60_000 }]);
    expect(changes).toEqual([]);
  });

  it('AU-165: a refused login fails the start, and so does a missing identity', async () => {
    const { ready, service } = setup();
    service.mood = 'refusing';
    await expect(ready()).rejects.toThrow('role "x" does not exist');
    service.mood = 'well';
    expect(await ready()).toBe('token 1');
    await expect(setup({ jwt: () => undefined }).ready()).rejects.toThrow(
      'there is no token of the identity "vault_default"',
    );
  });

  it('AU-165: while the service is away the task waits with growing pauses, and says why', async () => {
    const { ready, service, time, emitted } = setup();
    service.mood = 'away';
    const first = ready();
    await time.pass(WAIT_NOTICE_MS);
    expect(emitted).toEqual(['waiting for a token: Vault at http://v cannot be reached (ECONNREFUSED)']);
    for (let pause = LOGIN_RETRY_MS, n = 1; n < 8; pause = Math.min(pause * 2, LONGEST_LOGIN_RETRY_MS), n++) {
      const before = service.requests.length;
      await time.pass(n === 1 ? pause - WAIT_NOTICE_MS - 1 : pause - 1);
      expect(service.requests).toHaveLength(before);
      await time.pass(1);
      expect(service.requests).toHaveLength(before + 1);
    }
    service.mood = 'well';
    await time.pass(LONGEST_LOGIN_RETRY_MS);
    expect(await first).toBe('token 1');
    expect(emitted).toHaveLength(1);
  });

  it('AU-165: a killed task stops waiting', async () => {
    const { ready, service, time } = setup();
    service.mood = 'away';
    const killed = new AbortController();
    const first = ready(killed.signal);
    await time.pass(0);
    killed.abort();
    await expect(first).rejects.toThrow('the task ended');
  });

  it('AU-167: is renewed at half of its life, as long as the service extends it', async () => {
    const { ready, service, time, changes, saved } = setup();
    await ready();
    await time.pass(29_999);
    expect(service.requests).toEqual(['login jwt']);
    await time.pass(1);
    expect(service.requests).toEqual(['login jwt', 'renew token 1']);
    await time.pass(30_000);
    expect(service.requests.slice(2)).toEqual(['renew token 1']);
    expect(saved.at(-1)).toMatchObject({ token: 'token 1', expiresAtMs: time.nowMs() + 60_000, lifeMs: 60_000 });
    expect(changes).toEqual([]);
    // The longest life of the token comes: the renewal leaves less than half.
    service.renewedMs = 20_000;
    await time.pass(30_000);
    await time.pass(10_000);
    expect(service.requests.slice(3)).toEqual(['renew token 1', 'login jwt']);
    expect(changes).toEqual(['token 2']);
  });

  it('AU-167: a token that cannot be renewed is replaced at half of its life, one that does not expire stays', async () => {
    const { ready, service, time, changes } = setup();
    service.renewable = false;
    await ready();
    await time.pass(30_000);
    expect(service.requests).toEqual(['login jwt', 'login jwt']);
    expect(changes).toEqual(['token 2']);
    const other = setup();
    other.service.validMs = null;
    await other.ready();
    expect(other.time.pending).toBe(0);
  });

  it('AU-167: allow_token_expiration leaves the token alone', async () => {
    const { ready, service, time } = setup({ keepsAlive: false });
    await ready();
    await time.pass(3_600_000);
    expect(service.requests).toEqual(['login jwt']);
    expect(await ready()).toBe('token 2'); // a start after its end
  });

  it('AU-167: a token that was lost is replaced at its renewal', async () => {
    const { ready, service, time, changes } = setup();
    await ready();
    service.lost.add('token 1');
    await time.pass(30_000);
    expect(service.requests.slice(1)).toEqual(['renew token 1', 'login jwt']);
    expect(changes).toEqual(['token 2']);
  });

  it('AU-167: an outage that is shorter than the token keeps the token; a longer one costs a login', async () => {
    const { ready, login, service, time, changes } = setup();
    await ready();
    service.mood = 'away';
    await time.pass(50_000);
    service.mood = 'well';
    await time.pass(5_000);
    expect(login.token).toBe('token 1');
    expect(service.requests.at(-1)).toBe('renew token 1');
    expect(changes).toEqual([]);
    service.mood = 'away';
    await time.pass(100_000);
    service.mood = 'well';
    await time.pass(LONGEST_LOGIN_RETRY_MS);
    expect(changes).toEqual(['token 2']);
  });

  it('AU-167: a refused request asks whether the token still counts, at most every half minute', async () => {
    const { ready, login, service, time, changes } = setup();
    await ready();
    await login.handleRefusal('token 1'); // a question of rights
    await login.handleRefusal('token 1');
    expect(service.requests.slice(1)).toEqual(['check token 1']);
    service.lost.add('token 1');
    await time.pass(CHECK_PERIOD_MS - 1);
    await login.handleRefusal('token 1');
    expect(changes).toEqual([]);
    await time.pass(1);
    await login.handleRefusal('token 0'); // another one
    await login.handleRefusal('token 1');
    expect(changes).toEqual(['token 2']);
    // A service that is away has refused nothing.
    await time.pass(CHECK_PERIOD_MS);
    service.mood = 'away';
    await login.handleRefusal('token 2');
    expect(changes).toEqual(['token 2']);
  });

  it('AU-168: the end of the task makes its token invalid, the end of the agent does not', async () => {
    const ended = setup();
    await ended.ready();
    await ended.login.close(true);
    expect(ended.service.requests.at(-1)).toBe('end token 1');
    await ended.time.pass(3_600_000);
    expect(ended.service.requests).toHaveLength(2);
    const left = setup();
    await left.ready();
    await left.login.close(false);
    expect(left.service.requests).toEqual(['login jwt']);
    expect(left.time.pending).toBe(0);
  });

  it('AU-168: a service that is away at the end of the task does not hold it up', async () => {
    const { ready, login, service } = setup();
    await ready();
    service.mood = 'away';
    await login.close(true);
    expect(service.requests.at(-1)).toBe('end token 1');
  });

  it('AU-168: a restarted agent goes on with the kept token, and replaces one that ended meanwhile', async () => {
    const { ready, login, service, time, changes } = setup();
    const kept = { token: 'kept', renewable: true, lifeMs: 60_000 };
    login.restore({ ...kept, expiresAtMs: time.nowMs() + 20_000 });
    expect(await ready()).toBe('kept');
    await time.pass(10_000);
    expect(service.requests).toEqual(['renew kept']);
    const late = setup();
    late.login.restore({ ...kept, expiresAtMs: late.time.nowMs() - 1 });
    await late.time.pass(1_000);
    expect(late.service.requests).toEqual(['login jwt']);
    expect(late.changes).toEqual(['token 1']);
    expect(changes).toEqual([]);
  });
});
