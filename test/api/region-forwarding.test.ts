import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ForwardingOptions, forwardToRegions, RegionForwarding } from '@waybill/api';
import type { IssueRequest } from '@waybill/certificates';
import type { Regions } from '@waybill/rpc';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestAuthority } from '../support/certificates.js';
import { eventually } from '../support/wait.js';

const LIMIT = 3 * 1024 * 1024;
const portOf = (server: Pick<Server, 'address'>): number => (server.address() as AddressInfo).port;

/** An API of region west, with one of region east behind it that does as it is told. */
let west: FastifyInstance;
let east: Server;
/** What east was asked, and how it answers; by default with the length of the body. */
let asked: IncomingMessage[];
let answering: (request: IncomingMessage, response: ServerResponse) => void;
/** Where east says that it is; may be held up. */
let address: () => Promise<string>;

beforeEach(async () => {
  asked = [];
  answering = (request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => response.end(String(bytes)));
  };
  east = createServer((request, response) => {
    asked.push(request);
    answering(request, response);
  });
  await new Promise<void>((resolve) => east.listen(0, '127.0.0.1', resolve));
  address = async () => `127.0.0.1:${portOf(east)}`;
  const regions: Regions = {
    own: 'west',
    names: ['east', 'west'],
    askRegion: async () => ({ Address: await address() }) as never,
  };
  west = Fastify({ bodyLimit: LIMIT, forceCloseConnections: true });
  west.removeAllContentTypeParsers();
  west.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  forwardToRegions(
    west,
    new RegionForwarding(regions, {
      passing: () => {},
      refusing: () => {},
      tls: () => ({ minVersion: 'TLSv1.2' }),
      tlsOnly: false,
      proveRegion: true,
    }),
  );
  west.all('/v1/x', () => 'west');
  await west.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await west.close();
  east.closeAllConnections();
  east.close();
});

const url = (query = '?region=east'): string => `http://127.0.0.1:${portOf(west.server)}/v1/x${query}`;
const put = async (body: NonNullable<RequestInit['body']>, init: RequestInit = {}): Promise<[number, string]> => {
  const answer = await fetch(url(), { method: 'PUT', body, ...init });
  return [answer.status, await answer.text()];
};
const connections = (): Promise<number> =>
  new Promise((resolve) => west.server.getConnections((_, count) => resolve(count)));
/** Sent in chunks, without saying how long it will be. */
const chunked = (bytes: number): RequestInit & { body: NonNullable<RequestInit['body']> } => ({
  body: new Blob([new Uint8Array(bytes)]).stream(),
  duplex: 'half',
});

describe('requests for another region', () => {
  it('API-29, API-43: a body that is too large is refused here, in words, however it is sent', async () => {
    const refused = [413, expect.stringContaining('at most 3 MiB')];
    expect(await put(new Uint8Array(LIMIT + 1))).toEqual(refused);
    const unsaid = chunked(LIMIT + 1);
    const [status] = await put(unsaid.body, unsaid).catch(() => [413]); // the connection may be closed while it is sent
    expect(status).toBe(413);
    expect(asked).toHaveLength(0);
    expect(await put(new Uint8Array(LIMIT))).toEqual([200, String(LIMIT)]);
    const said = chunked(LIMIT);
    expect(await put(said.body, said)).toEqual([200, String(LIMIT)]);
  });

  it('API-43: what a browser says of its page is judged here and not passed on', async () => {
    const page = { Origin: url(''), Referer: url('/ui'), 'Sec-Fetch-Site': 'same-origin', 'X-Nomad-Token': 'secret' };
    expect(await put('x', { headers: page })).toEqual([200, '1']);
    expect(asked[0]?.headers).toMatchObject({ 'x-nomad-token': 'secret', host: `127.0.0.1:${portOf(east)}` });
    const said = Object.keys(asked[0]?.headers ?? {});
    expect(said.filter((name) => /^(origin|referer|sec-fetch-.*)$/.test(name))).toEqual([]);
  });

  it('API-43: whoever has gone before it is known where the region is asks nothing there', async () => {
    let found: (at: string) => void = () => {};
    const known = address;
    const lookedFor = new Promise<void>((resolve) => {
      address = () => {
        resolve();
        return new Promise<string>((at) => (found = at));
      };
    });
    const left = httpRequest(url());
    left.on('error', () => {});
    left.end();
    await lookedFor;
    left.destroy();
    await eventually('west has seen it go', async () => (await connections()) === 0);
    address = known;
    found(await known());
    await (await fetch(url('?region=east&second'))).text();
    expect(asked.map((request) => request.url)).toEqual([expect.stringContaining('second')]);
  });

  it('API-43: whoever goes in the middle of a stream ends it there', async () => {
    let ended = false;
    answering = (request, response) => {
      response.write('first');
      request.once('close', () => (ended = true));
    };
    const leaving = new AbortController();
    const answer = await fetch(url(), { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await eventually('east has seen it go', () => ended);
  });

  it('API-43: a stream from a machine that is gone without a word does not last for ever', async () => {
    answering = (_, response) => void response.write('first');
    const leaving = new AbortController();
    const answer = await fetch(url(), { signal: leaving.signal });
    await answer.body?.getReader().read();
    const hex = portOf(east).toString(16).toUpperCase().padStart(4, '0');
    const toEast = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .find(([, , remote]) => remote?.endsWith(`:${hex}`));
    expect(toEast?.[5]).toMatch(/^02:/); // the timer of keep-alive
    leaving.abort();
  });

  it('DP-1141: a region that is nowhere cannot be reached', async () => {
    address = async () => '::1:4646';
    const answer = await fetch(url());
    expect([answer.status, await answer.text()]).toEqual([500, 'No path to region']);
  });
});

describe('an API of another region that speaks TLS', () => {
  let authority: TestAuthority;
  let secure: TlsServer;
  beforeAll(async () => void (authority = await TestAuthority.create()));
  afterAll(() => authority.remove());
  afterEach(() => {
    secure?.closeAllConnections();
    secure?.close();
  });

  /** East with this certificate, and west in front of it. @returns what west answers, and why it refused */
  async function passedOn(
    given: Partial<IssueRequest>,
    over: Partial<ForwardingOptions> = {},
  ): Promise<[number, string]> {
    const { certificate, key } = await authority.issue(given);
    secure = createTlsServer({ cert: certificate, key }, (_, response) => void response.end('east'));
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const regions: Regions = {
      own: 'west',
      names: ['east', 'west'],
      askRegion: async () => ({ Address: `127.0.0.1:${portOf(secure)}`, TLS: true }) as never,
    };
    let reason = '';
    const front = Fastify({ forceCloseConnections: true });
    const forwarding = new RegionForwarding(regions, {
      passing: () => {},
      refusing: (_, why) => (reason = why),
      tls: () => ({ ca: authority.certificate, minVersion: 'TLSv1.2' }),
      tlsOnly: true,
      proveRegion: true,
      ...over,
    });
    forwardToRegions(front, forwarding);
    front.all('/v1/x', () => 'west');
    await front.listen({ host: '127.0.0.1', port: 0 });
    const answer = await fetch(`http://127.0.0.1:${portOf(front.server)}/v1/x?region=east`);
    const body = await answer.text();
    await front.close();
    return [answer.status, answer.ok ? body : reason];
  }

  it('OP-221: is asked over TLS if it proves the name of a server of its region', async () => {
    expect(await passedOn({ names: ['server.east.nomad'], addresses: [] })).toEqual([200, 'east']);
  });

  it('OP-221: one with the name of another region, or of a machine, is not believed', async () => {
    for (const name of ['server.west.nomad', 'client.east.nomad'])
      expect(await passedOn({ names: [name] })).toEqual([500, expect.stringContaining('server.east.nomad')]);
  });

  it('OP-220: without verify_server_hostname it proves the host it is reached at', async () => {
    const host = { proveRegion: false };
    expect(await passedOn({ names: ['x.example'], addresses: ['127.0.0.1'] }, host)).toEqual([200, 'east']);
    expect(await passedOn({ names: ['x.example'], addresses: [] }, host)).toEqual([
      500,
      expect.stringContaining('127.0.0.1'),
    ]);
  });

  it('one whose certificate no authority of ours has signed is not believed', async () => {
    const none = { tls: () => ({ minVersion: 'TLSv1.2' }) as const };
    expect(await passedOn({ names: ['server.east.nomad'] }, none)).toEqual([
      500,
      expect.stringContaining('certificate'),
    ]);
  });

  it('one that does not speak TLS is not asked by one that does', async () => {
    let refused = '';
    const regions: Regions = {
      own: 'west',
      names: ['east'],
      askRegion: async () => ({ Address: await address() }) as never,
    };
    const forwarding = new RegionForwarding(regions, {
      passing: () => {},
      refusing: (_, why) => (refused = why),
      tls: () => ({ minVersion: 'TLSv1.2' }),
      tlsOnly: true,
      proveRegion: true,
    });
    const front = Fastify({ forceCloseConnections: true });
    forwardToRegions(front, forwarding);
    front.all('/v1/x', () => 'west');
    await front.listen({ host: '127.0.0.1', port: 0 });
    expect((await fetch(`http://127.0.0.1:${portOf(front.server)}/v1/x?region=east`)).status).toBe(500);
    await front.close();
    expect(refused).toContain('does not speak TLS');
    expect(asked).toHaveLength(0);
  });
});
