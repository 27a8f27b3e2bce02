import { describe, expect, it } from 'vitest';
import { proxiesFrom, proxyFor, proxyHeaders } from './proxy.js';

const through = (address: string, env: Record<string, string>): string | undefined =>
  proxyFor(new URL(address), proxiesFrom(env))?.host;

describe('proxies of the environment', () => {
  const both = { HTTP_PROXY: 'http://plain:3128', https_proxy: 'secure:3129' };

  it.each([
    ['http://waybill.example:4646', both, 'plain:3128'],
    ['https://waybill.example:4646', both, 'secure:3129'],
    ['https://waybill.example', { HTTP_PROXY: 'plain:3128' }, undefined],
    ['http://waybill.example', { HTTP_PROXY: '', http_proxy: 'small:1' }, 'small:1'],
    ['http://waybill.example', { HTTP_PROXY: '::' }, undefined],
    ['http://waybill.example', {}, undefined],
  ])('%s with %j goes through %s', (address, env, proxy) => {
    expect(through(address, env)).toBe(proxy);
  });

  it.each([
    'http://localhost:1',
    'http://a.localhost',
    'http://127.0.0.1:4646',
    'http://127.1.2.3',
    'http://[::1]:4646',
  ])('%s is never proxied', (address) => {
    expect(through(address, both)).toBeUndefined();
  });

  it.each([
    ['*', true],
    ['example', true],
    ['.example', true],
    ['*.example', true],
    ['waybill.example', true],
    ['WAYBILL.example:4646', true],
    ['other, waybill.example', true],
    ['waybill.example:80', false],
    ['bill.example', false],
    ['ample', false],
    ['', false],
  ])('NO_PROXY=%s excepts waybill.example:4646: %s', (except, is) => {
    const found = through('http://waybill.example:4646', { ...both, NO_PROXY: except });
    expect(found === undefined).toBe(is);
  });

  it('shows a proxy who it is for', () => {
    expect(proxyHeaders(new URL('http://plain'))).toEqual({});
    const { 'Proxy-Authorization': shown = '' } = proxyHeaders(new URL('http://ann:p%40ss@plain'));
    expect(Buffer.from(shown.replace('Basic ', ''), 'base64').toString()).toBe('ann:p@ss');
  });
});
