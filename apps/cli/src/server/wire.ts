import type { Opened, WebSocket } from '@waybill/websocket';
import type { ClientRequest, IncomingMessage, request as httpRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionFailure } from './api-failure.js';
import type { Connection } from './connection.js';
import { proxyFor, proxyHeaders } from './proxy.js';

/** Time limits for the connection and for TLS (CL-125). The response has no limit, because queries may block. */
export const CONNECT_LIMITS = { connectMs: 30_000, handshakeMs: 10_000 };

/** The settings for reaching an address. */
export type Way = Pick<Connection, 'socketPath' | 'tls' | 'proxies'>;

export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts the request and its response. */
  readonly signal: AbortSignal;
}

/**
 * Sends one request and resolves with the head of any response. It uses Node's http module instead of fetch, which
 * supports neither Unix sockets nor TLS settings and limits a blocking query to five minutes. Each request has its own
 * connection, so nothing keeps the process alive (CL-123).
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
 * Opens a WebSocket, or returns the response if the server sends one instead. Proxies tunnel the connection.
 * @param maxMessageBytes longest accepted message
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

/** Node's request options are valid for a WebSocket too, except for the types of headers. */
type OpenOptions = Parameters<typeof WebSocket.open>[1];

/** Describes a request like Go clients: `Get "http://…"`. The URL never contains a user or password (CL-128). */
export function named({ method, url }: Pick<WireRequest, 'method' | 'url'>): string {
  return `${method.charAt(0)}${method.slice(1).toLowerCase()} "${url.href}"`;
}

/** Aborts a request whose connection takes too long. */
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

/** The module's function that starts the request, and its target and options. */
interface Route {
  readonly start: typeof httpRequest;
  readonly target: URL;
  readonly options: RequestOptions;
}

/** @param throughTunnel tunnel through a proxy even if it could read the request */
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
  // An agent, even `false`, would open a connection of its own instead of the given one.
  const { agent: _, ...over } = options;
  if (url.protocol === 'http:')
    return { start: await starterOf(url), target: url, options: { ...over, createConnection: () => socket } };
  const { connect } = await import('node:tls');
  const createConnection = () => connect({ socket, servername: url.hostname, ...tlsOptions(tls) });
  return { start: await starterOf(url), target: url, options: { ...over, defaultPort: 443, createConnection } };
}

/** Creates the connection explicitly, because a WebSocket does not accept `socketPath`. */
async function unixSocket(socketPath: string): Promise<Pick<RequestOptions, 'createConnection'>> {
  const { connect } = await import('node:net');
  return { createConnection: () => connect(socketPath) };
}

const starterOf = async ({ protocol }: URL): Promise<typeof httpRequest> =>
  (protocol === 'https:' ? await import('node:https') : await import('node:http')).request;

/** Opens a connection to the URL's host through a proxy. @throws ConnectionFailure, AbortError */
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
  // A name with several addresses has one error for each.
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
