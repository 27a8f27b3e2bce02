import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { KeyPair } from '@waybill/certificates';
import { Infrastructure, readSettings, RunningService } from '@waybill/service';
import { freePort, type Stack } from '@waybill/embedded';
import { api } from '@waybill/api';
import { projector } from '@waybill/projector';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startEmptyStack } from '../support/begun-databases.js';
import { shellJob } from '../support/api-client.js';
import { TestAuthority } from '../support/certificates.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';

let stack: Stack;
let authority: TestAuthority;
let other: TestAuthority;
/** Of a caller. */
let caller: KeyPair;
/** Without it no write is ever readable. */
let projection: { readonly service: RunningService; readonly infrastructure: Infrastructure };
beforeAll(async () => {
  [stack, authority, other] = await Promise.all([startEmptyStack(), TestAuthority.create(), TestAuthority.create()]);
  const settings = readSettings(servers(), []);
  const infrastructure = new Infrastructure({
    processName: 'projector',
    settings,
    logger: silentLogger,
    onFatal: () => {},
  });
  projection = { service: await RunningService.start(projector, settings, infrastructure), infrastructure };
  caller = await authority.issue({ commonName: 'cli.global.nomad', purpose: 'caller' });
});
afterAll(async () => {
  await projection?.service.stop();
  await projection?.infrastructure.close();
  await Promise.all([stack?.stop(), authority?.remove(), other?.remove()]);
});

const servers = (): NodeJS.ProcessEnv => ({
  WAYBILL_NATS_URL: stack.natsUrl,
  WAYBILL_DATABASE_URL: stack.databaseUrl,
  WAYBILL_LOG_LEVEL: 'silent',
});

let running: { readonly service: RunningService; readonly infrastructure: Infrastructure; readonly port: number };
const stops: (() => void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await running.service.stop();
  await running.infrastructure.close();
});

/** The API with a certificate of the CA. */
async function start(pair: KeyPair, over: NodeJS.ProcessEnv = {}): Promise<void> {
  const { certFile, keyFile } = await authority.save('api', pair);
  const port = await freePort();
  const settings = readSettings(
    {
      ...servers(),
      WAYBILL_HTTP_PORT: String(port),
      WAYBILL_TLS_HTTP: 'true',
      WAYBILL_TLS_CA_FILE: authority.caFile,
      WAYBILL_TLS_CERT_FILE: certFile,
      WAYBILL_TLS_KEY_FILE: keyFile,
      ...over,
    },
    [],
  );
  const infrastructure = new Infrastructure({
    processName: 'api',
    settings,
    logger: silentLogger,
    onFatal: () => {},
    hasState: false,
  });
  running = { service: await RunningService.start(api, settings, infrastructure), infrastructure, port };
}

const trusting = (): ConnectionOptions => ({ ca: authority.certificate, host: '127.0.0.1', port: running.port });

/** @throws what the handshake fails with, also where the server says so only afterwards (TLS 1.3) */
async function handshake(options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ ...trusting(), ...options });
  stops.push(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.write('GET /v1/status/leader HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => Promise.reject(new Error('closed')))]);
  return socket;
}

function ask(path: string, options: RequestOptions = {}): ClientRequest {
  const request = httpsRequest({ ...trusting(), path, agent: false, ...options });
  if (options.headers === undefined) request.end();
  stops.push(() => request.destroy());
  return request;
}

const answered = async (request: ClientRequest): Promise<IncomingMessage> =>
  ((await once(request, 'response')) as [IncomingMessage])[0];

const serialShown = async (): Promise<string> => {
  const socket = await handshake({});
  return socket.getPeerCertificate().serialNumber;
};

/** Sends these bytes as they are. */
async function plain(bytes: string): Promise<string> {
  const socket = connectPlain(running.port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

const registration = JSON.stringify({ Job: shellJob('after-reload', 'true', { count: 0 }) });

describe('the API over TLS', () => {
  beforeEach(async () => start(await authority.issue()));

  it('OP-220: answers whoever trusts its CA, and is not believed by others or under another name', async () => {
    expect((await answered(ask('/v1/jobs'))).statusCode).toBe(200);
    await expect(handshake({ ca: other.certificate })).rejects.toMatchObject({
      code: 'SELF_SIGNED_CERT_IN_CHAIN',
    });
    await expect(handshake({ servername: 'server.west.nomad' })).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect((await handshake({ servername: 'server.global.nomad' })).authorized).toBe(true);
  });

  it('OP-220: speaks TLS 1.2 and 1.3, and nothing older', async () => {
    expect((await handshake({ maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2');
    expect((await handshake({})).getProtocol()).toBe('TLSv1.3');
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(handshake(old)).rejects.toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
  });

  it('plain HTTP on its port is told so', async () => {
    const answer = await plain('GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.0 400 Bad Request\r\n/);
    expect(answer).toMatch(/\r\n\r\nClient sent an HTTP request to an HTTPS server\.\n$/);
    expect((await answered(ask('/v1/jobs'))).statusCode).toBe(200);
  });

  it('the command line reads it with NOMAD_CACERT, and says why where it does not trust it', async () => {
    const url = `https://127.0.0.1:${running.port}`;
    expect(await runCli(url, ['node', 'status', `-ca-cert=${authority.caFile}`])).toMatchObject({
      code: 0,
      out: 'No nodes registered\n',
    });
    const refused = await runCli(url, ['node', 'status', `-ca-cert=${other.caFile}`]);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('self-signed certificate in certificate chain'),
    });
    const misnamed = await runCli(url, [
      'node',
      'status',
      `-ca-cert=${authority.caFile}`,
      '-tls-server-name=server.west.nomad',
    ]);
    expect(misnamed).toMatchObject({ code: 1, err: expect.stringContaining('server.west.nomad') });
    expect((await runCli(url, ['node', 'status', '-tls-skip-verify'])).code).toBe(0);
  });

  it('a WebSocket over TLS is the same as one without', async () => {
    const socket = new WebSocket(`wss://127.0.0.1:${running.port}/v1/client/allocation/none/exec?task=x`, {
      ca: authority.certificate,
    });
    const [code] = (await once(socket, 'close')) as [number];
    expect(code).toBe(1008);
  });

  it('OP-223: a new certificate is for new connections; a blocking query and an event stream go on', async () => {
    const before = await serialShown();
    const now = Number((await answered(ask('/v1/jobs'))).headers['x-nomad-index']);
    const waiting = answered(ask(`/v1/jobs?index=${Math.max(1, now)}&wait=60s`));
    const stream = await answered(ask('/v1/event/stream'));
    let streamed = '';
    stream.on('data', (chunk: Buffer) => (streamed += chunk.toString()));
    const load = new AbortController();
    const failures: unknown[] = [];
    const callers = Array.from({ length: 4 }, async () => {
      while (!load.signal.aborted)
        await answered(ask('/v1/status/leader')).then(
          async (answer) => void (await text(answer)),
          (error: unknown) => failures.push(error),
        );
    });
    for (let round = 0; round < 3; round++) {
      await authority.save('api', await authority.issue());
      await running.service.reload();
      expect(await serialShown()).not.toBe(before);
    }
    load.abort();
    await Promise.all(callers);
    expect(failures).toEqual([]);
    const request = ask('/v1/jobs', { method: 'PUT', headers: { 'Content-Length': registration.length } });
    request.end(registration);
    expect((await answered(request)).statusCode).toBe(200);
    expect(JSON.parse(await text(await waiting))).toMatchObject([{ ID: 'after-reload' }]);
    await eventually('the stream shows the job', async () => streamed.includes('after-reload'));
  });

  it('OP-223: a broken new file keeps the old one; files that change are noticed without a signal', async () => {
    const before = await serialShown();
    const good = await readFile(authority.file('api.pem'), 'utf8');
    await writeFile(authority.file('api.pem'), 'half a cert');
    await running.service.reload();
    expect(await serialShown()).toBe(before);
    const next = await authority.issue();
    await writeFile(authority.file('api.pem'), next.certificate); // whose key is still to come
    await running.service.reload();
    expect(await serialShown()).toBe(before);
    await writeFile(authority.file('api-key.pem'), next.key);
    expect(good).not.toBe(next.certificate);
    await eventually('the new certificate is shown', async () => (await serialShown()) !== before);
  });

  it('OP-79: /v1/agent/reload reads them anew too', async () => {
    const before = await serialShown();
    await authority.save('api', await authority.issue());
    const reload = ask('/v1/agent/reload', { method: 'PUT' });
    expect((await answered(reload)).statusCode).toBe(200);
    expect(await serialShown()).not.toBe(before);
  });
});

describe('certificates of callers', () => {
  const letIn = async (options: ConnectionOptions) => (await handshake(options)).authorized;

  it('OP-222: whoever shows none, or one of another CA, is cut off in the handshake', async () => {
    await start(await authority.issue(), { WAYBILL_TLS_VERIFY_HTTPS_CLIENT: 'true' });
    const shown = { cert: caller.certificate, key: caller.key };
    expect(await letIn(shown)).toBe(true);
    expect(await letIn({ ...shown, maxVersion: 'TLSv1.2' })).toBe(true);
    await expect(letIn({})).rejects.toThrow(/certificate required|closed/);
    await expect(letIn({ maxVersion: 'TLSv1.2' })).rejects.toThrow(
      /handshake failure|socket disconnected|closed|ECONNRESET/,
    );
    const foreign = await other.issue({ purpose: 'caller' });
    await expect(letIn({ cert: foreign.certificate, key: foreign.key })).rejects.toThrow(
      /unknown ca|closed|ECONNRESET/,
    );
    const { certificate, key } = await authority.expired();
    await expect(letIn({ cert: certificate, key })).rejects.toThrow(/certificate expired|closed|ECONNRESET/);
    const files = await authority.save('caller', caller);
    const flags = [`-ca-cert=${authority.caFile}`, `-client-cert=${files.certFile}`, `-client-key=${files.keyFile}`];
    const url = `https://127.0.0.1:${running.port}`;
    expect((await runCli(url, ['node', 'status', ...flags])).code).toBe(0);
    expect((await runCli(url, ['node', 'status', flags[0] ?? ''])).code).toBe(1);
  });
});

describe('limits', () => {
  it('an expired certificate is not believed', async () => {
    await start(await authority.expired());
    await expect(handshake({})).rejects.toMatchObject({ code: 'CERT_HAS_EXPIRED' });
  });

  it('WAYBILL_TLS_MIN_VERSION=tls13 refuses TLS 1.2', async () => {
    await start(await authority.issue(), { WAYBILL_TLS_MIN_VERSION: 'tls13' });
    expect((await handshake({})).getProtocol()).toBe('TLSv1.3');
    await expect(handshake({ maxVersion: 'TLSv1.2' })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    });
  });

  it('OP-226: whoever does not finish the handshake in time is cut off, silent or talking', async () => {
    await start(await authority.issue(), { WAYBILL_TLS_HANDSHAKE_TIMEOUT: '200ms' });
    for (const first of ['', '\u0016\u0003\u0001']) {
      const socket = connectPlain(running.port, '127.0.0.1');
      socket.on('error', () => {});
      if (first !== '') socket.write(first, 'latin1');
      await once(socket, 'close');
    }
    expect((await answered(ask('/v1/status/leader'))).statusCode).toBe(200);
  });

  it('OP-225: one connection too many is told so over TLS', async () => {
    await start(await authority.issue(), { WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '2' });
    await handshake({});
    await handshake({});
    expect((await answered(ask('/v1/status/leader'))).statusCode).toBe(429);
  });
});
