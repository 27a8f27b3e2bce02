import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { aCheck } from '../fixtures/offered-service.js';
import { MAX_CHECK_OUTPUT_BYTES, networkProbe } from './probe.transport.js';

const cleanUp: (() => void)[] = [];
afterEach(() => cleanUp.splice(0).forEach((run) => run()));

async function serving(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

const look = (port: number, over: Parameters<typeof aCheck>[0] = {}) => {
  const check = { id: 'c', service: 's', task: '', group: 'g', spec: aCheck(over), address: '127.0.0.1', port };
  return networkProbe(check, AbortSignal.timeout(5_000));
};

describe('looking at a service', () => {
  it('AG-145: method, path, headers and body of an http check arrive as configured', async () => {
    let seen: Pick<IncomingMessage, 'method' | 'url' | 'headers'> | undefined;
    let body = '';
    const port = await serving((request, response) => {
      seen = request;
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => response.end('secret'));
    });
    const result = await look(port, {
      Method: 'POST',
      Path: '/live?deep=1',
      Header: { 'X-Probe': ['a', 'b'] },
      Body: 'hi',
    });
    expect(result).toEqual({ ok: true, output: 'nomad: http ok', statusCode: 200 });
    expect([seen?.method, seen?.url, seen?.headers['x-probe'], body]).toEqual(['POST', '/live?deep=1', 'a, b', 'hi']);
  });

  it('AG-145: a header that is sent once, and a path that looks like another place', async () => {
    const seen: (string | undefined)[] = [];
    const port = await serving((request, response) => {
      seen.push(request.url, request.headers.host);
      response.end();
    });
    const Header = { Host: ['shop.example'] };
    for (const Path of ['//127.0.0.1:1/live', 'http://127.0.0.1:1/', 'live'])
      expect(await look(port, { Path, Header })).toMatchObject({ ok: true, statusCode: 200 });
    const host = 'shop.example';
    expect(seen).toEqual(['//127.0.0.1:1/live', host, '/http://127.0.0.1:1/', host, '/live', host]);
  });

  it('AG-145: below 400 is a success; the body is shown for all but 200, cut', async () => {
    const port = await serving((request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { location: '/200' }).end('x'.repeat(10_000));
    });
    for (const [status, ok] of [
      [302, true],
      [399, true],
      [400, false],
      [503, false],
    ] as const)
      expect(await look(port, { Path: `/${status}` })).toEqual({
        ok,
        output: 'x'.repeat(MAX_CHECK_OUTPUT_BYTES),
        statusCode: status,
      });
  });

  it('AG-145: a tcp check succeeds when it connects', async () => {
    const port = await serving(() => {});
    expect(await look(port, { Type: 'tcp' })).toEqual({ ok: true, output: 'nomad: tcp ok', statusCode: 0 });
    cleanUp.splice(0).forEach((run) => run());
    await expect(look(port, { Type: 'tcp' })).rejects.toThrow('ECONNREFUSED');
  });
});

describe('looking at a service over TLS', () => {
  /** Returns a certificate that only itself has signed. */
  function selfSigned(): { key: Buffer; cert: Buffer } {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-tls-'));
    cleanUp.push(() => rmSync(dir, { recursive: true }));
    const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const args = ['req', '-x509', ...curve, '-keyout', key, '-out', cert, '-subj', '/CN=web.internal', '-days', '1'];
    execFileSync('openssl', args, { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  }

  it('AG-145: a certificate has to be right unless tls_skip_verify says otherwise; tls_server_name is asked for', async () => {
    const names: unknown[] = [];
    const server = createTlsServer(selfSigned(), (request, response) => {
      names.push((request.socket as TLSSocket & { servername?: unknown }).servername);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanUp.push(() => server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    await expect(look(port, { Protocol: 'https' })).rejects.toThrow('self-signed certificate');
    const lenient = { Protocol: 'https', TLSSkipVerify: true };
    expect(await look(port, lenient)).toMatchObject({ ok: true, statusCode: 200 });
    expect(await look(port, { ...lenient, TLSServerName: 'web.internal' })).toMatchObject({ ok: true });
    expect(names).toEqual([false, 'web.internal']);
  });
});
