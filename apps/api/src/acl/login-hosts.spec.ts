import { expect, it } from 'vitest';
import { LoginHosts } from './login-hosts.js';

it('AU-108: the host of a URL has to match one of the globs; without globs every host may be called', () => {
  const hosts = new LoginHosts(['id.example.com', '*.corp.example', '10.1.*', '[::1]']);
  const allowed = (url: string): boolean => hosts.allows(url);
  for (const url of [
    'https://id.example.com/realm',
    'https://ID.example.com:8443/',
    'https://a.b.corp.example',
    'http://10.1.2.3:8200/v1',
    'http://[::1]:4646',
  ])
    expect([url, allowed(url)]).toEqual([url, true]);
  for (const url of [
    'https://example.com',
    'https://id.example.com.evil.example',
    'https://corp.example',
    'http://169.254.169.254/latest/meta-data',
    'https://id.example.com@10.0.0.1/',
  ])
    expect([url, allowed(url)]).toEqual([url, false]);
  expect(new LoginHosts([]).allows('http://169.254.169.254/')).toBe(true);
});
