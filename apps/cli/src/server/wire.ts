import type { Opened, WebSocket } from '@waybill/websocket';
import type { ClientRequest, IncomingMessage, request as httpRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionFailure } from './api-failure.js';
import type { Connection } from './connection.js';
import { proxyFor, proxyHeaders } from './proxy.js';

/** Until a connection stands, and then until TLS has agreed (CL-125). There is no limit for the answer: queries may block. */
export const CONNECT_LIMITS = { connectMs: 30_000, handshakeMs: 10_000 };

/** How an address is reached. */
export type Way = Pick<Connection, 'socketPath' | 'tls' | 'proxies'>;

export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Gives the request up, also its answer. */
  readonly signal: AbortSignal;
}

/**
 * One request, and the head of whatever is answered. Node's own http and not its fetch, which offers neither unix sockets
 * nor TLS settings and gives a blocking query five minutes. A connection of its own, so that nothing keeps the process
 * alive (CL-123).
 * @throws ConnectionFailure, AbortError
 */
export async function exchange(way: Way, asked: WireRequest, body?: string | Buffer): Promise<IncomingMessage> {
  const { start, target, options } = await routeTo(way, asked);
  return new Promise((resolve, reject) => {
    const sent = start(target, options, resolve);
    limitConnecting(sent, target.protocol === 'https:');
    sent.on('error', (error) => reject(failureOf(asked, error)));
    sent.end(body);
  });
}

/**
 * A WebSocket; an answer instead is given back. Proxies are made to pass bytes on, whatever they mean.
 * @param maxMessageBytes the longest message that is taken
 * @throws ConnectionFailure, AbortError
 */
export async function openWebSocket(way: Way, asked: WireRequest, maxMessageBytes: number): Promise<Opened> {
  const { target, options } = await routeTo(way, asked, true);
  const { WebSocket } = await import('@waybill/websocket');
  const finishRequest = (request: ClientRequest): void => {
    limitConnecting(request, target.protocol === 'https:');
    request.end();
  };
  try {
    return await WebSocket.open(target, { ...options, maxMessageBytes, finishRequest } as OpenOptions);
  } catch (error) {
    throw failureOf(asked, error instanceof Error ? error : new Error(String(error)));
  }
}

/** Node's options of a request are those of a WebSocket's too, but for the types of headers. */
type OpenOptions = Parameters<typeof WebSocket.open>[1];

/** As Go clients write it: `Get "http://…"`. The URL never holds a user or password (CL-128). */
export function named({ method, url }: Pick<WireRequest, 'method' | 'url'>): string {
  return `${method.charAt(0)}${method.slice(1).toLowerCase()} "${url.href}"`;
}

/** Ends a request whose connection takes too long. */
export function limitConnecting(sent: ClientRequest, isTls: boolean, limits = CONNECT_LIMITS): void {
  sent.once('socket', (socket: Socket) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = () => clearTimeout(timer);
    const limit = (ms: number, what: string) => {
      stop();
      timer = setTimeout(() => sent.destroy(new Error(`no ${what} within ${ms / 1_000} s`)), ms);
    };
    const handshake = () => {
      if (!isTls) return stop();
      limit(limits.handshakeMs, 'TLS handshake');
      socket.once('secureConnect', stop);
    };
    socket.once('close', stop);
    if (!socket.connecting) return handshake();
    limit(limits.connectMs, 'connection');
    socket.once('connect', handshake);
  });
}

/** The module's function that starts the request, where that goes, and how. */
interface Route {
  readonly start: typeof httpRequest;
  readonly target: URL;
  readonly options: RequestOptions;
}

/** @param throughTunnel a proxy is to pass on bytes, also where it could read the request */
async function routeTo(way: Way, asked: WireRequest, throughTunnel = false): Promise<Route> {
  const { method, url, headers, signal } = asked;
  const { socketPath, tls } = way;
  const options = { method, headers, agent: false, signal };
  const proxy = socketPath === undefined ? proxyFor(url, way.proxies) : undefined;
  if (!proxy) {
    const at = { ...(socketPath === undefined ? {} : await unixSocket(socketPath)), ...tlsOptions(tls) };
    return { start: await starterOf(url), target: url, options: { ...options, ...at } };
  }
  if (url.protocol === 'http:' && !throughTunnel) {
    const passedOn = { Host: url.host, ...proxyHeaders(proxy), ...headers };
    return { start: await starterOf(proxy), target: proxy, options: { ...options, path: url.href, headers: passedOn } };
  }
  const socket = await tunnel(proxy, asked);
  // An agent, even none, would connect by itself.
  const { agent: _, ...over } = options;
  if (url.protocol === 'http:')
    return { start: await starterOf(url), target: url, options: { ...over, createConnection: () => socket } };
  const { connect } = await import('node:tls');
  const createConnection = () => connect({ socket, servername: url.hostname, ...tlsOptions(tls) });
  return { start: await starterOf(url), target: url, options: { ...over, defaultPort: 443, createConnection } };
}

/** By a connection of its own: a WebSocket takes no `socketPath`. */
async function unixSocket(socketPath: string): Promise<Pick<RequestOptions, 'createConnection'>> {
  const { connect } = await import('node:net');
  return { createConnection: () => connect(socketPath) };
}

const starterOf = async ({ protocol }: URL): Promise<typeof httpRequest> =>
  (protocol === 'https:' ? await import('node:https') : await import('node:http')).request;

/** A connection to the URL's host that a proxy has made. @throws ConnectionFailure, AbortError */
async function tunnel(proxy: URL, asked: WireRequest): Promise<Socket> {
  const { url, signal } = asked;
  const to = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
  const start = await starterOf(proxy);
  const headers = { Host: to, ...proxyHeaders(proxy) };
  return new Promise((resolve, reject) => {
    const sent = start(proxy, { method: 'CONNECT', path: to, headers, agent: false, signal });
    limitConnecting(sent, proxy.protocol === 'https:');
    sent.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new ConnectionFailure(`${named(asked)}: the proxy ${proxy.host} answers ${statusCode}`));
    });
    sent.on('error', (error) => reject(failureOf(asked, error, proxy)));
    sent.end();
  });
}

const failureOf = (asked: WireRequest, error: Error, proxy?: URL): Error =>
  error.name === 'AbortError'
    ? error
    : new ConnectionFailure(`${named(asked)}: ${proxy ? `proxy ${proxy.host}: ` : ''}${reasonOf(error)}`);

function reasonOf(error: Error): string {
  // A name with several addresses fails with one error for each.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code = first instanceof Error && 'code' in first ? first.code : undefined;
  if (code === 'ECONNREFUSED')
    return 'connection refused (is the server running? -address or WAYBILL_ADDR tells where it is)';
  return first instanceof Error ? first.message : error.message;
}

function tlsOptions(tls: Connection['tls']): object {
  if (!tls) return {};
  return { ...tls, ...(tls.ca ? { ca: [...tls.ca] } : {}) };
}
