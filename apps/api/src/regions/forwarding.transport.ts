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

/** The header with the region that has forwarded a request. A request is forwarded once. */
const FORWARDED_BY = 'x-waybill-forwarded-by';
/**
 * The longest time in milliseconds for connecting to the other region. The answer itself may take as long as a blocking
 * query.
 */
const CONNECT_TIMEOUT_MS = 3_000;
/** The delay of TCP keep-alive in milliseconds. A machine that disappears silently is noticed some 10 s later. */
const KEEP_ALIVE_MS = 15_000;
/** The status of an answer that has none. */
const UNKNOWN_STATUS = 502;
/** These headers belong to one connection and not to the request. */
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

/**
 * The headers in which browsers describe the requesting page. They were checked here, and have no meaning for a server
 * of another name.
 */
const OF_PAGES = ['origin', 'referer', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'];

/** ForwardingOptions says how requests are forwarded, and who is notified. */
export interface ForwardingOptions {
  /** Is called with the region of every forwarded request. */
  readonly passing: (region: string) => void;
  /** Is called with a region whose API must not be called, and the reason. */
  readonly refusing: (region: string, reason: string) => void;
  /** Returns the trusted authorities and the client certificate. */
  readonly tls: () => TlsOptions;
  /** Refuses APIs without TLS, so that an encrypted request stays encrypted. */
  readonly tlsOnly: boolean;
  /**
   * Says whether an API must prove the name `server.<region>.nomad` (OP-221). Otherwise it proves the host at which it
   * is reached.
   */
  readonly proveRegion: boolean;
}

type Forwarded = Pick<ApiRequest, 'method' | 'url' | 'headers' | 'body' | 'raw' | 'routeOptions'>;

/**
 * RegionForwarding forwards requests for another region unchanged to an API of that region, and returns the answer as
 * it arrives (API-43): lists, blocking queries and streams alike. It asks for the API's address over NATS, so an API
 * that answers is running. It keeps no state. Cost: two connections during a request.
 */
export class RegionForwarding {
  /** @param passing is called with the region of every forwarded request */
  constructor(
    private readonly peers: Regions,
    private readonly options: ForwardingOptions,
  ) {}

  get own(): string {
    return this.peers.own;
  }

  /** The regions, sorted by name. */
  get regions(): readonly string[] {
    return this.peers.names;
  }

  /** @throws Refusal invalid if the region is unknown, internal if it does not answer (DP-1141), too-large (API-29) */
  async forward(request: Forwarded, reply: ApiReply, region: string): Promise<void> {
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
      throw this.regionRefusal(region, 'its API does not speak TLS, and WAYBILL_TLS_HTTP asks for it here');
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

  /**
   * Returns the options for TLS. The proven name is also the requested one. An IPv6 address stands in brackets only in
   * a URL.
   */
  private tlsTo(
    region: string,
    hostname: string,
  ): TlsOptions & { readonly servername?: string; readonly host: string } {
    const host = hostname.replaceAll(/^\[|\]$/g, '');
    return { ...this.options.tls(), host, ...(this.options.proveRegion && { servername: `server.${region}.nomad` }) };
  }

  private regionRefusal(region: string, reason: string): Error {
    this.options.refusing(region, reason);
    return noPath(region, reason);
  }
}

/**
 * Forwards requests whose query names another region, or whose body does if the query names none (API-28). Requests
 * that register or plan a job have an order of their own (API-101). A body of known length is forwarded as it arrives;
 * another is read first, because only this server can still tell the client that it is too large.
 */
export function forwardToRegions(fastify: FastifyInstance, forwarding: RegionForwarding): void {
  const passTo = async (region: string | undefined, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!region || region === forwarding.own || registersOrPlans(request)) return;
    try {
      await forwarding.forward(request, reply, region);
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

/**
 * Returns the region in a body. The result is also undefined for a body that is not JSON, because its reader reports
 * the error. Bodies without the word cost nothing.
 */
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

/** Sends the request. If its body was read already, that copy is sent. */
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

/** Says whether a handshake failed because one side does not trust the other's certificate. */
const isTlsFailure = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && !/^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|EAI_)/.test(error.code);

/** Returns the error. An unknown region is the request's fault; a region that does not answer is not (API-43). */
function noPath(region: string, cause: unknown): Error {
  const text = 'No path to region';
  const refusal = cause instanceof NoPathToRegionError ? badRequest(text) : serverFailure(text);
  return Object.assign(refusal, { region, cause });
}
