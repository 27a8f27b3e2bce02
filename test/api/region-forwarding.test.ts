import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { forwardToRegions, RegionForwarding } from '@waybill/api';
import type { Regions } from '@waybill/rpc';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
    ask: async () => ({ Address: await address() }) as never,
  };
  west = Fastify({ bodyLimit: LIMIT, forceCloseConnections: true });
  west.removeAllContentTypeParsers();
  west.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  forwardToRegions(west, new RegionForwarding(regions, () => {}));
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
