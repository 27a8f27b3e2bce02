import { errorText, HTTP_STATUS_OF, Refusal } from '@waybill/model';
import { type ClientRequest, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { apiAddress, type ApiPlace, isUnreachable, type Regions, NoPathToRegionError } from '@waybill/rpc';
import type { TlsOptions } from '@waybill/service';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serverFailure, badRequest } from '../http/api-error.js';
import { bodyTooLarge, MAX_BODY_BYTES, readJsonBody } from '../http/body.js';
import { asObject, stringOf } from '../http/json-members.js';
import { pathOf } from '../http/path.js';
import { param, type QueryString } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, beginStream, whenClosed } from '../http/reply.js';
import { jobPathOf } from '../jobs/job-path.js';

/** Region that has passed a request on; a request is passed on once. */
const FORWARDED_BY = 'x-waybill-forwarded-by';
/** Until a connection to the other region stands; the answer itself may take as long as a query may block. */
const CONNECT_TIMEOUT_MS = 3_000;
/** A machine that is gone without a word is noticed some 10 s after this long without one. */
const KEEP_ALIVE_MS = 15_000;
/** Of an answer that names none. */
const UNKNOWN_STATUS = 502;
/** Belong to one connection, not to the request. */
const HOP_BY_HOP = [
  'connection',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** What browsers say of the page that asks. It was judged here, and means nothing to a server of another name. */
const OF_PAGES = ['origin', 'referer', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'];

/** How requests are passed on, and who is told. */
export interface ForwardingOptions {
  /** Called with the region of every request that is passed on. */
  readonly passing: (region: string) => void;
  /** Called for a region whose API may not be asked, with the reason. */
  readonly refusing: (region: string, reason: string) => void;
  /** Whom to believe, and what to show those who ask for a certificate. */
  readonly tls: () => TlsOptions;
  /** An API that does not speak TLS is not asked: what is encrypted on the way here stays so. */
  readonly tlsOnly: boolean;
  /** An API proves the name `server.<region>.nomad` (OP-221); otherwise the host it is reached at. */
  readonly proveRegion: boolean;
}

type Forwarded = Pick<ApiRequest, 'method' | 'url' | 'headers' | 'body' | 'raw' | 'routeOptions'>;

/**
 * Passes requests for another region on to an API of that region, as they are, and its answer back, as it comes (API-43):
 * lists, blocking queries and streams alike. Its address is asked for over NATS, so who answers is there. Holds nothing;
 * cost: two connections while a request lasts.
 */
export class RegionForwarding {
  /** @param passing called with the region of every request that is passed on */
  constructor(
    private readonly peers: Regions,
    private readonly options: ForwardingOptions,
  ) {}

  get own(): string {
    return this.peers.own;
  }

  /** Sorted. */
  get regions(): readonly string[] {
    return this.peers.names;
  }

  /** @throws Refusal invalid: the region is unknown, internal: it does not answer (DP-1141), too-large (API-29) */
  async pass(request: Forwarded, reply: ApiReply, region: string): Promise<void> {
    if (request.headers[FORWARDED_BY] !== undefined) throw noPath(region, 'the request has come from another region');
    refuseTooLarge(request);
    const upstream = this.connect(request, region, await this.placeOf(region));
    this.options.passing(region);
    whenClosed(reply.raw, () => upstream.destroy()); // whoever does not wait any more ends it there too
    const answer = await answerOf(request, upstream).catch((error: unknown) => {
      throw noPath(region, error);
    });
    await sendBack(answer, await beginStream(reply, answer.statusCode ?? UNKNOWN_STATUS));
  }

  private async placeOf(region: string): Promise<ApiPlace> {
    try {
      return await this.peers.askRegion(region, apiAddress, null);
    } catch (error) {
      if (isUnreachable(error)) throw noPath(region, error);
      throw error;
    }
  }

  private connect(
    request: Forwarded,
    region: string,
    { Address: address, TLS: speaksTls = false }: ApiPlace,
  ): ClientRequest {
    if (this.options.tlsOnly && !speaksTls)
      throw this.refusal(region, 'its API does not speak TLS, and WAYBILL_TLS_HTTP asks for it here');
    if (!URL.canParse(`http://${address}`)) throw noPath(region, `its API says that it is at ${address}`);
    const { pathname, search } = inRegion(request.url, region);
    const headers = { ...request.headers, [FORWARDED_BY]: this.own };
    for (const name of [...HOP_BY_HOP, ...OF_PAGES]) Reflect.deleteProperty(headers, name);
    const { hostname, port } = new URL(`http://${address}`);
    const options = { hostname, port, path: pathname + search, method: request.method, headers, agent: false };
    const upstream = speaksTls ? httpsRequest({ ...options, ...this.tlsTo(region, hostname) }) : httpRequest(options);
    if (speaksTls)
      upstream.once('error', (error) => {
        if (isTlsFailure(error)) this.options.refusing(region, error.message);
      });
    upstream.setSocketKeepAlive(true, KEEP_ALIVE_MS);
    const tooSlow = setTimeout(() => upstream.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS);
    upstream.once('socket', (socket) =>
      socket.once(speaksTls ? 'secureConnect' : 'connect', () => clearTimeout(tooSlow)),
    );
    upstream.once('close', () => clearTimeout(tooSlow));
    return upstream;
  }

  /** The name that is proven is also the one that is asked for. An address of IPv6 stands in brackets in a URL only. */
  private tlsTo(
    region: string,
    hostname: string,
  ): TlsOptions & { readonly servername?: string; readonly host: string } {
    const host = hostname.replaceAll(/^\[|\]$/g, '');
    return { ...this.options.tls(), host, ...(this.options.proveRegion && { servername: `server.${region}.nomad` }) };
  }

  private refusal(region: string, reason: string): Error {
    this.options.refusing(region, reason);
    return noPath(region, reason);
  }
}

/**
 * Requests whose query names another region, or, where it names none, their body (API-28). Those that register or plan a
 * job have an order of their own (API-101). A body whose length is known is passed on as it comes, another is read first: how
 * much of it there may be is this server's to say, as only it can still be heard by whoever sends.
 */
export function forwardToRegions(fastify: FastifyInstance, forwarding: RegionForwarding): void {
  const passTo = async (region: string | undefined, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!region || region === forwarding.own || registersOrPlans(request)) return;
    try {
      await forwarding.pass(request, reply, region);
    } catch (error) {
      const status = error instanceof Refusal ? HTTP_STATUS_OF[error.code] : 500;
      if (status === 413) void reply.header('Connection', 'close'); // what is still coming is not read
      await reply.code(status).header('Content-Type', 'text/plain; charset=utf-8').send(errorText(error));
    }
  };
  const inQuery = (request: FastifyRequest) => param(request.query as QueryString, 'region');
  fastify.addHook('onRequest', async (request, reply) => {
    if (!isOfUnknownLength(request)) await passTo(inQuery(request), request, reply);
  });
  fastify.addHook('preHandler', (request, reply) => passTo(inQuery(request) || regionInBody(request), request, reply));
}

const isOfUnknownLength = ({ headers }: Forwarded): boolean => headers['transfer-encoding'] !== undefined;

/** @throws Refusal */
function refuseTooLarge({ headers, routeOptions: { bodyLimit = MAX_BODY_BYTES } }: Forwarded): void {
  if (Number(headers['content-length'] ?? 0) > bodyLimit) throw bodyTooLarge(bodyLimit);
}

/** Undefined too for what is no JSON: what is wrong with it is said by who reads it. Cost: none for bodies without the word. */
function regionInBody({ method, body }: Forwarded): string | undefined {
  if (!isWrite(method) || !Buffer.isBuffer(body) || !/"region"/i.test(body.toString('latin1'))) return undefined;
  try {
    return stringOf(asObject(readJsonBody(body), 'body'), 'Region');
  } catch {
    return undefined;
  }
}

const isWrite = (method: string): boolean => method === 'PUT' || method === 'POST';

function registersOrPlans({ method, url }: Forwarded): boolean {
  if (!isWrite(method)) return false;
  const path = pathOf(url);
  if (path === '/v1/jobs') return true;
  if (!path.startsWith('/v1/job/')) return false;
  const { sub } = jobPathOf(url);
  return sub === undefined || sub === 'plan';
}

function inRegion(url: string, region: string): URL {
  const there = new URL(url, 'http://region');
  there.searchParams.set('region', region);
  return there;
}

/** Sends the request; one whose body was read already is sent from what was read. */
async function answerOf(request: Forwarded, upstream: ClientRequest): Promise<IncomingMessage> {
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    upstream.once('response', resolve);
    upstream.once('error', reject);
  });
  if (Buffer.isBuffer(request.body)) upstream.end(request.body);
  else pipeline(request.raw, upstream).catch(() => undefined); // ends in `error` above
  return answered;
}

async function sendBack(answer: IncomingMessage, client: ServerResponse): Promise<void> {
  const headers = { ...answer.headers };
  for (const name of HOP_BY_HOP) Reflect.deleteProperty(headers, name);
  client.writeHead(answer.statusCode ?? UNKNOWN_STATUS, headers);
  client.flushHeaders();
  client.once('close', () => answer.destroy());
  await pipeline(answer, client).catch(() => undefined); // either side has gone: so does the other
}

/** Of the handshake: what the other end has shown is not believed, or what it was shown. */
const isTlsFailure = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && !/^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|EAI_)/.test(error.code);

/** A name that no region has is the request's fault; a region that does not answer is not (API-43). */
function noPath(region: string, cause: unknown): Error {
  const text = 'No path to region';
  const refusal = cause instanceof NoPathToRegionError ? badRequest(text) : serverFailure(text);
  return Object.assign(refusal, { region, cause });
}
