import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { hasChromium, VisitedPage } from '../support/chromium.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { TestWebSocket } from '../support/websocket.js';

const REBINDING = ['--host-resolver-rules=MAP evil.example 127.0.0.1'];

/** What web pages can do to an operator who looks at them: nothing. */

const ALLOWED = 'https://ui.example.com';
const FOREIGN = 'https://evil.example';

let waybill: WaybillProcesses;
let api: ApiClient;
let allocId: string;
let opsUrl: string;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether(
    {
      WAYBILL_HTTP_ALLOWED_ORIGINS: ALLOWED,
      WAYBILL_HTTP_ALLOWED_HOSTS: 'waybill.example.com',
    },
    undefined,
    ['api'],
  );
  api = waybill.api;
  opsUrl = waybill.running.get('api')?.opsUrl ?? '';
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
  await api.register(shellJob('shell', 'echo secret-output; exec sleep 1000'));
  allocId = await eventually('the task runs', async () => {
    const [found] = await api.get<{ ID: string; ClientStatus: string }[]>('/v1/job/shell/allocations');
    return found?.ClientStatus === 'running' && found.ID;
  });
});
afterAll(() => waybill?.stop());

/** Sends exactly these bytes. @returns what the server answers first, with the status line */
async function exchange(base: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(bytes);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString();
}
const statusOf = async (base: string, path: string, headers: Record<string, string>, method = 'GET', body = '') => {
  const lines = Object.entries({ Host: new URL(base).host, Connection: 'close', ...headers }).map((h) => h.join(': '));
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const answer = await exchange(
    base,
    `${method} ${path} HTTP/1.1\r\n${[...lines, ...length].join('\r\n')}\r\n\r\n${body}`,
  );
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
};
const READS = () => [
  '/v1/jobs',
  '/v1/event/stream',
  '/v1/metrics',
  '/v1/waybill/log',
  `/v1/client/fs/logs/${allocId}?task=task&type=stdout&plain=true`,
  `/v1/client/fs/cat/${allocId}?path=alloc/logs/task.stdout.0`,
  '/v1/client/stats',
  '/v1/agent/monitor',
  '/v1/unknown',
];
const jobNamed = (id: string): string => JSON.stringify({ Job: shellJob(id, 'true', { count: 0 }) });
const jobIds = async (): Promise<string[]> => (await api.get<{ ID: string }[]>('/v1/jobs')).map(({ ID }) => ID);

describe('requests as browsers send them', () => {
  it('reads, streams and logs are refused to foreign pages and under foreign names', async () => {
    for (const path of READS())
      for (const headers of [
        { Origin: FOREIGN },
        { Origin: 'null' },
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { Host: 'evil.example' },
        { Host: 'evil.example', Origin: 'http://evil.example', 'Sec-Fetch-Site': 'same-origin' },
      ] as Record<string, string>[])
        expect(await statusOf(api.url, path, headers), `${path} ${JSON.stringify(headers)}`).toBe(403);
  });

  it('writes are refused, whatever the content type, and nothing is written', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/json']) {
      const headers = { Origin: FOREIGN, 'Sec-Fetch-Site': 'cross-site', 'Content-Type': type };
      for (const method of ['POST', 'PUT'])
        expect([403, 415]).toContain(await statusOf(api.url, '/v1/jobs', headers, method, jobNamed('evil')));
    }
    expect(await statusOf(api.url, '/v1/job/shell', { Origin: FOREIGN }, 'DELETE')).toBe(403);
    expect(await statusOf(api.url, '/v1/jobs', { Host: 'evil.example' }, 'POST', jobNamed('evil'))).toBe(403);
    expect(await jobIds()).toEqual(['shell']);
  });

  it('AG-320: an exec socket opens for no foreign page, not even when Origin and Host agree on its name', async () => {
    const url = `${api.url}/v1/client/allocation/${allocId}/exec?task=task&command=["true"]`;
    for (const headers of [
      { Origin: FOREIGN },
      { Origin: 'http://evil.example', Host: 'evil.example' },
      { Host: 'evil.example' },
      { 'Sec-Fetch-Site': 'same-site' },
    ] as Record<string, string>[])
      await expect(TestWebSocket.open(url, headers)).rejects.toThrow('refused: 403');
    const allowed: Record<string, string>[] = [
      {},
      { Origin: api.url },
      { Origin: ALLOWED },
      { Host: 'waybill.example.com' },
    ];
    for (const headers of allowed) (await TestWebSocket.open(url, headers)).raw.terminate();
  });

  it('an allowed origin may read and write JSON, is answered its preflight, and may send no simple bodies', async () => {
    const page = { Origin: ALLOWED, 'Sec-Fetch-Site': 'cross-site' };
    const asks = { ...page, 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'content-type' };
    const preflight = await api.raw('/v1/jobs', { method: 'OPTIONS', headers: asks });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, ALLOWED]);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Content-Type');
    const read = await api.raw('/v1/jobs', { headers: page });
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, ALLOWED]);
    expect(read.headers.get('vary')).toMatch(/Origin/);
    const json = { ...page, 'Content-Type': 'application/json' };
    expect(await statusOf(api.url, '/v1/validate/job', json, 'PUT', jobNamed('x'))).toBe(200);
    const plain = { ...page, 'Content-Type': 'text/plain' };
    expect(await statusOf(api.url, '/v1/validate/job', plain, 'PUT', jobNamed('x'))).toBe(415);
    const foreign = await api.raw('/v1/jobs', { method: 'OPTIONS', headers: { ...asks, Origin: FOREIGN } });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });

  it('two Host headers, a malformed one and HTTP/0.9 are 400; HTTP/1.0 without one is answered', async () => {
    const { host } = new URL(api.url);
    for (const base of [api.url, opsUrl]) {
      const path = base === opsUrl ? '/healthz' : '/v1/agent/self';
      for (const request of [
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
        `GET ${path} HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n`,
        `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`,
        `GET ${path} HTTP/0.9\r\n\r\n`,
        `GET ${path}\r\n\r\n`,
      ])
        expect(await exchange(base, request), JSON.stringify(request)).toMatch(/^HTTP\/1\.1 400 /);
      expect(await exchange(base, `GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it('the ops port answers under its own names only, and no foreign page', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/v1/metrics']) {
      expect(await statusOf(opsUrl, path, { Host: 'evil.example' }), path).toBe(403);
      expect(await statusOf(opsUrl, path, { Origin: FOREIGN }), path).toBe(403);
    }
    // As a kubelet and Prometheus ask, by the address of a pod.
    expect(await statusOf(opsUrl, '/healthz', { Host: '10.244.1.7:9090', 'User-Agent': 'kube-probe/1.31' })).toBe(200);
    expect(await statusOf(opsUrl, '/metrics', { Host: 'waybill.example.com' })).toBe(200);
  });
});

describe.skipIf(!hasChromium)('a page in a real browser (needs /usr/bin/chromium)', () => {
  let page: VisitedPage | undefined;
  afterEach(async () => {
    await page?.close();
    page = undefined;
  });

  /** Each way in which a page reaches a server, and whether it got an answer that it could use. */
  const attacks = (target: string): string => `
    const target = ${JSON.stringify(target)};
    const job = ${JSON.stringify(jobNamed('evil'))};
    const exec = '/v1/client/allocation/${allocId}/exec?task=task&command=' + encodeURIComponent('["true"]');
    const soon = (opened) => Promise.race([opened, new Promise((done) => setTimeout(() => done('nothing'), 5000))]);
    const fetched = (path, init) => fetch(target + path, init)
      .then(async (answer) => answer.type === 'opaque' ? 'opaque' : answer.ok ? 'read' : 'refused ' + answer.status, () => 'blocked');
    const shown = (tag, attributes) => soon(new Promise((done) => {
      const element = Object.assign(document.createElement(tag), attributes);
      element.onload = () => done('loaded');
      element.onerror = () => done('failed');
      document.body.append(element);
    }));
    const submitted = (type, id) => soon(new Promise((done) => {
      const frame = Object.assign(document.createElement('iframe'), { name: type });
      document.body.append(frame);
      const form = Object.assign(document.createElement('form'), { method: 'POST', action: target + '/v1/jobs', enctype: type, target: type });
      const split = job.indexOf('"Type"');
      form.append(Object.assign(document.createElement('input'), { name: job.slice(0, split) + '"x":"', value: '",' + job.slice(split) }));
      document.body.append(form);
      frame.onload = () => done('sent');
      form.submit();
    }));
    return {
      text: await fetched('/v1/jobs', { method: 'POST', body: job, headers: { 'Content-Type': 'text/plain' } }),
      noCors: await fetched('/v1/jobs', { method: 'POST', body: job, mode: 'no-cors' }),
      blob: await fetched('/v1/jobs', { method: 'POST', body: new Blob([job]), mode: 'no-cors' }),
      json: await fetched('/v1/jobs', { method: 'POST', body: job, headers: { 'Content-Type': 'application/json' } }),
      put: await fetched('/v1/jobs', { method: 'PUT', body: job }),
      remove: await fetched('/v1/job/shell', { method: 'DELETE' }),
      beacon: navigator.sendBeacon(target + '/v1/jobs', job) ? 'sent' : 'not sent',
      formText: await submitted('text/plain'),
      formPlain: await submitted('application/x-www-form-urlencoded'),
      formData: await submitted('multipart/form-data'),
      read: await fetched('/v1/jobs'),
      log: await fetched('/v1/client/fs/logs/${allocId}?task=task&type=stdout&plain=true'),
      image: await shown('img', { src: target + '/v1/jobs' }),
      script: await shown('script', { src: target + '/v1/jobs' }),
      events: await soon(new Promise((done) => {
        const source = new EventSource(target + '/v1/event/stream');
        source.onopen = () => done('opened');
        source.onerror = () => done('failed');
      })),
      socket: await soon(new Promise((done) => {
        const socket = new WebSocket((target || location.origin).replace('http', 'ws') + exec);
        socket.onopen = () => done('opened');
        socket.onerror = () => done('failed');
      })),
    };`;

  it('of another port of the machine can neither read nor write', async () => {
    page = await VisitedPage.serve(attacks(api.url));
    const found = await page.visit<Record<string, string>>();
    expect(found).toEqual({
      text: 'blocked',
      noCors: 'opaque',
      blob: 'opaque',
      json: 'blocked',
      put: 'blocked',
      remove: 'blocked',
      beacon: 'sent',
      formText: 'sent',
      formPlain: 'sent',
      formData: 'sent',
      read: 'blocked',
      log: 'blocked',
      image: 'failed',
      script: 'failed',
      events: 'failed',
      socket: 'failed',
    });
    expect(await jobIds()).toEqual(['shell']);
  });

  it('of a foreign name that leads to the machine can neither read nor write', async () => {
    const { port } = new URL(api.url);
    page = await VisitedPage.serve(attacks(`http://evil.example:${port}`));
    const found = await page.visit<Record<string, string>>(`http://evil.example:${page.port}/`, REBINDING);
    expect(found).toMatchObject({
      read: 'blocked',
      log: 'blocked',
      events: 'failed',
      socket: 'failed',
      put: 'blocked',
    });
    expect(await jobIds()).toEqual(['shell']);
  });

  it('whose own name was led to the server (DNS rebinding) is refused by the name', async () => {
    page = await VisitedPage.serve(attacks(''), api.url);
    const found = await page.visit<Record<string, string>>(`http://evil.example:${page.port}/`, REBINDING);
    const refused = 'refused 403';
    expect(found).toMatchObject({ text: refused, noCors: refused, json: refused, put: refused, remove: refused });
    expect(found).toMatchObject({ read: refused, log: refused, image: 'failed', script: 'failed', events: 'failed' });
    expect(await jobIds()).toEqual(['shell']);
  });
});
