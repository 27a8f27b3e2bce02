import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../settings.js';
import { ServerNames } from './server-names.js';
import { judgeWebRequest, type WebAccess } from './cross-origin.js';
import { webAccessOf } from './cross-origin.transport.js';

const access: WebAccess = {
  names: new ServerNames(['waybill-api', 'ops.example.com', '.svc.cluster.local']),
  origins: new Set(['https://ui.example.com']),
};

type Headers = Record<string, string>;
const OWN = { host: '127.0.0.1:4646' };
const JSON_BODY = { 'content-type': 'application/json', 'content-length': '2' };
const TEXT_BODY = { 'content-type': 'text/plain;charset=UTF-8', 'content-length': '2' };

/** 200: it is answered. */
function statusOf(headers: Headers, httpVersion = '1.1', more: Headers = {}): number {
  const rawHeaders = [...Object.entries(headers), ...Object.entries(more)].flat();
  const verdict = judgeWebRequest({ headers, rawHeaders, httpVersion, method: 'GET', url: '/v1/jobs' }, access);
  return verdict.kind === 'refused' ? verdict.status : 200;
}

describe('names of the server', () => {
  it.each([
    'localhost',
    'LOCALHOST:4646',
    'localhost.',
    '127.0.0.1:4646',
    '[::1]:4646',
    '10.1.2.3',
    '203.0.113.9:80',
    'waybill-api:4646',
    'ops.example.com',
    'waybill-api.waybill.svc.cluster.local:4646',
  ])('answers under %s', (host) => expect(statusOf({ host })).toBe(200));

  it.each([
    'evil.example',
    'evil.example:4646',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'xops.example.com',
    'svc.cluster.local',
    'xsvc.cluster.local',
    '0x7f.1',
  ])('does not answer under %s', (host) => expect(statusOf({ host })).toBe(403));

  it.each(['', ' ', 'a b', 'localhost@evil.example', 'evil.example#localhost', 'localhost:x', '[127.0.0.1]', '::1'])(
    'a Host header of %j is malformed',
    (host) => expect(statusOf({ host })).toBe(400),
  );

  it('every name where the setting says so', () => {
    expect(new ServerNames(['*']).has('evil.example')).toBe(true);
  });

  it('two Host headers and HTTP/0.9 are malformed, HTTP/1.0 without Host is not', () => {
    expect(statusOf(OWN, '1.1', { Host: 'localhost' })).toBe(400);
    expect(statusOf(OWN, '0.9')).toBe(400);
    expect(statusOf({}, '0.9')).toBe(400);
    expect(statusOf({}, '1.0')).toBe(200);
  });
});

it('Kubernetes: services, probes and scrapes are answered, foreign names are not', () => {
  const file = fileURLToPath(new URL('../../../../k8s/base/waybill.env', import.meta.url));
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const env = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const { names } = webAccessOf(readSettings(env, []));
  const asked = ['waybill-api', 'waybill-api.waybill', 'waybill-api.waybill-dev', 'waybill-api.waybill.svc'];
  for (const host of [...asked, 'waybill-api.waybill.svc.cluster.local', '10.244.1.7', 'localhost'])
    expect(names.has(host), host).toBe(true);
  expect(names.has('evil.example')).toBe(false);
});

describe('pages', () => {
  it('programs send neither Origin nor Sec-Fetch-Site, and may send what they like', () => {
    const bodies: Headers[] = [{}, JSON_BODY, TEXT_BODY, { 'content-type': 'application/x-www-form-urlencoded' }];
    for (const body of bodies) expect(statusOf({ ...OWN, ...body })).toBe(200);
  });

  it.each([
    ['https://evil.example', undefined],
    ['null', undefined],
    ['http://127.0.0.1:8000', 'same-site'],
    ['http://localhost:4646', 'cross-site'],
    ['https://127.0.0.1:4646', 'cross-site'],
    ['file://', undefined],
    ['chrome-extension://127.0.0.1:4646', undefined],
    [undefined, 'cross-site'],
    [undefined, 'same-site'],
  ])('of origin %s and site %s are refused, whatever they ask', (origin, site) => {
    const page = { ...(origin && { origin }), ...(site && { 'sec-fetch-site': site }) };
    for (const body of [{}, JSON_BODY, TEXT_BODY]) expect(statusOf({ ...OWN, ...page, ...body })).toBe(403);
  });

  it('may have links to pages of the server, which are opened as a whole and by nothing but GET', () => {
    const link = { ...OWN, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const opened = (url: string, over: Headers = {}, method = 'GET'): string => {
      const headers = { ...link, ...over };
      const request = { headers, rawHeaders: Object.entries(headers).flat(), httpVersion: '1.1', method, url };
      return judgeWebRequest(request, { ...access, opensByLink: (path) => path.startsWith('/ui/') }).kind;
    };
    expect(opened('/ui/jobs?status=running')).toBe('own');
    expect(opened('/v1/jobs?path=/ui/')).toBe('refused');
    expect(opened('/ui/jobs', { 'sec-fetch-dest': 'iframe' })).toBe('refused');
    expect(opened('/ui/jobs', { 'sec-fetch-mode': 'cors' })).toBe('refused');
    expect(opened('/ui/jobs', { origin: 'https://evil.example' })).toBe('refused');
    expect(opened('/ui/jobs', {}, 'POST')).toBe('refused');
    expect(opened('/ui/jobs', { host: 'evil.example' })).toBe('refused');
    expect(statusOf(link)).toBe(403);
  });

  it('of the server itself may ask, over TLS that ends before it too, and by the address bar', () => {
    expect(statusOf({ ...OWN, origin: 'http://127.0.0.1:4646', 'sec-fetch-site': 'same-origin', ...TEXT_BODY })).toBe(
      200,
    );
    expect(statusOf({ host: 'ops.example.com', origin: 'https://ops.example.com' })).toBe(200);
    expect(statusOf({ host: 'ops.example.com:443', origin: 'https://ops.example.com' })).toBe(200);
    expect(statusOf({ ...OWN, 'sec-fetch-site': 'none' })).toBe(200);
  });

  it('a page whose name was led to this address is refused by the name', () => {
    expect(statusOf({ host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' })).toBe(
      403,
    );
  });

  it('of an allowed origin may ask, with bodies that browsers ask about first', () => {
    const page = { ...OWN, origin: 'https://ui.example.com', 'sec-fetch-site': 'cross-site' };
    expect(statusOf({ ...page, ...JSON_BODY })).toBe(200);
    expect(statusOf(page)).toBe(200);
    expect(statusOf({ ...page, ...TEXT_BODY })).toBe(415);
    expect(statusOf({ ...page, 'content-length': '2' })).toBe(415);
    expect(statusOf({ ...page, 'transfer-encoding': 'chunked' })).toBe(415);
  });

  it.each(['application/x-www-form-urlencoded', 'Multipart/Form-Data; boundary=x'])(
    'may not send forms (%s), not even those of the server',
    (type) => {
      for (const origin of ['http://127.0.0.1:4646', 'https://ui.example.com'])
        expect(statusOf({ ...OWN, origin, 'content-type': type, 'content-length': '2' })).toBe(415);
    },
  );
});
