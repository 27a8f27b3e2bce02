import { describe, expect, it } from 'vitest';
import { answerTo } from './callback-server.js';

const STATE = 'st_1';
const ask = (url: string, method = 'GET') => answerTo({ method, url }, STATE);

describe('what comes back with the browser', () => {
  it('AU-292: state, code and issuer', () => {
    expect(ask('/oidc/callback?state=st_1&code=c%2F1&iss=https%3A%2F%2Fidp')).toMatchObject({
      status: 200,
      callback: { state: STATE, code: 'c/1', issuer: 'https://idp' },
    });
    expect(ask('/oidc/callback?state=st_1&code=c').callback?.issuer).toBe('');
  });

  it('AU-294: another path, method or state is answered, and the login goes on', () => {
    for (const [url, method, status] of [
      ['/', 'GET', 404],
      ['/favicon.ico', 'GET', 404],
      ['/oidc/callback/?state=st_1&code=c', 'GET', 404],
      ['/oidc/callback?state=st_1&code=c', 'POST', 405],
      ['/oidc/callback?code=c', 'GET', 400],
      ['/oidc/callback?state=st_2&code=c', 'GET', 400],
      ['/oidc/callback?state=st_2&error=access_denied', 'GET', 400],
    ] as const)
      expect(ask(url, method), url).toEqual({ status, text: expect.any(String) as string });
  });

  it('AU-294: an error of the provider ends the login and is told', () => {
    const { status, refused } = ask('/oidc/callback?state=st_1&error=access_denied&error_description=not%20you');
    expect([status, refused?.message]).toEqual([400, 'access_denied: not you']);
    expect(ask('/oidc/callback?state=st_1&error=login_required').refused?.message).toBe('login_required');
    expect(ask('/oidc/callback?state=st_1').refused?.message).toBe('the provider sent no code');
  });
});
