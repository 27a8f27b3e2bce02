import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { AnswerFailure, ConnectionFailure } from './api-failure.js';
import type { Connection } from './connection.js';
import { type ExactJson, formatExact, parseExact } from './exact-json.js';
import { VERSION } from './version.js';

export type Method = 'GET' | 'PUT' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Until a connection stands, in ms (CL-125). There is no limit for the answer: queries may block. */
const CONNECT_TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;

/** An answer with status 200. */
export interface Answer<T> {
  /** Integers above 2^53 rounded; what is printed as JSON comes from `exact`. */
  readonly value: T;
  readonly exact: ExactJson;
  /** `X-Nomad-Index`, 0 when the answer has none. */
  readonly index: number;
  /** `X-Nomad-NextToken`; empty on the last page. */
  readonly nextToken: string;
  readonly traceId: string;
  readonly headers: IncomingHttpHeaders;
}

/** A request that its sender has made all by itself. */
export interface RawRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** A body that is read while it comes. */
export interface StreamAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The API of one server. Node's own http and not its fetch, which offers neither unix sockets nor TLS settings and gives
 * a blocking query five minutes. One connection per request, so that nothing keeps the process alive (CL-123).
 * Every request can be aborted by the run's signal and then rejects with an AbortError.
 */
export class ApiClient {
  constructor(
    readonly connection: Connection,
    private readonly traceparent: string,
    private readonly interrupt: AbortSignal,
    private readonly extraHeaders: Readonly<Record<string, string>> = {},
  ) {}

  /** The same server, region and namespace replaced where given (CL-256). */
  within(scope: { readonly region?: string | undefined; readonly namespace?: string | undefined }): ApiClient {
    const { region = this.connection.region, namespace = this.connection.namespace } = scope;
    const there = { ...(region === undefined ? {} : { region }), ...(namespace === undefined ? {} : { namespace }) };
    return new ApiClient({ ...this.connection, ...there }, this.traceparent, this.interrupt, this.extraHeaders);
  }

  /** Another server, asked as this one is. */
  at(address: string): ApiClient {
    const { socketPath: _, ...connection } = this.connection;
    return new ApiClient({ ...connection, url: new URL(address) }, this.traceparent, this.interrupt);
  }

  /** The same server; requests are given up at `signal` too. */
  until(signal: AbortSignal): ApiClient {
    const either = AbortSignal.any([signal, this.interrupt]);
    return new ApiClient(this.connection, this.traceparent, either, this.extraHeaders);
  }

  /** The same server; every request has these headers too. */
  sending(headers: Readonly<Record<string, string>>): ApiClient {
    return new ApiClient(this.connection, this.traceparent, this.interrupt, { ...this.extraHeaders, ...headers });
  }

  /** @throws AnswerFailure, ConnectionFailure */
  async get<T>(path: string, query: Query = {}): Promise<Answer<T>> {
    return this.ask<T>('GET', path, query);
  }

  /** @throws AnswerFailure, ConnectionFailure */
  async put<T>(path: string, body: ExactJson, query: Query = {}): Promise<Answer<T>> {
    return this.ask<T>('PUT', path, query, formatExact(body, 0));
  }

  /** @throws AnswerFailure, ConnectionFailure */
  async delete<T>(path: string, query: Query = {}, body?: ExactJson): Promise<Answer<T>> {
    return this.ask<T>('DELETE', path, query, body === undefined ? undefined : formatExact(body, 0));
  }

  /** Bytes as they are; what is answered is read by nobody. @throws AnswerFailure, ConnectionFailure */
  async putBytes(path: string, body: Buffer): Promise<void> {
    const url = this.urlOf(path, {});
    const message = await this.exchange('PUT', url, body, this.interrupt);
    const text = await bodyText(message, () => abortOf(this.interrupt) ?? brokenOff('PUT', url));
    if (message.statusCode !== 200) throw new AnswerFailure(message.statusCode ?? 0, text, message.headers);
  }

  /**
   * An answer that goes on until the server ends it; `signal` ends it from here.
   * @throws AnswerFailure, ConnectionFailure
   */
  async stream(path: string, query: Query = {}, signal?: AbortSignal): Promise<StreamAnswer> {
    const url = this.urlOf(path, query);
    const end = signal ? AbortSignal.any([signal, this.interrupt]) : this.interrupt;
    const message = await this.exchange('GET', url, undefined, end);
    const { headers, statusCode = 0 } = message;
    const broken = () => abortOf(end) ?? brokenOff('GET', url);
    if (statusCode !== 200) throw new AnswerFailure(statusCode, await bodyText(message, broken), headers);
    return { headers, body: chunksOf(message, broken) };
  }

  /** One request as it is given, whatever is answered; nothing is followed or unpacked. @throws ConnectionFailure */
  raw({ method, url, headers, body }: RawRequest): Promise<IncomingMessage> {
    return this.send(method, url, headers, body, this.interrupt);
  }

  /**
   * A connection that has left HTTP behind, such as a WebSocket.
   * @throws AnswerFailure when the server does not agree, ConnectionFailure
   */
  async upgrade(
    path: string,
    query: Query,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly socket: Duplex; readonly head: Buffer }> {
    const url = this.urlOf(path, query);
    const { socketPath, tls } = this.connection;
    const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        headers: { ...this.headersFor(undefined), ...headers },
        agent: false,
        signal: this.interrupt,
        ...(socketPath === undefined ? {} : { socketPath }),
        ...tlsOptions(tls),
      });
      sent.on('upgrade', (_, socket, head) => resolve({ socket, head }));
      sent.on('response', (message) => {
        const { statusCode = 0, headers: answered } = message;
        bodyText(message, () => brokenOff('GET', url)).then(
          (text) => reject(new AnswerFailure(statusCode, text, answered)),
          reject,
        );
      });
      sent.on('error', (error) => reject(failureOf('GET', url, error)));
      sent.end();
    });
  }

  private async ask<T>(method: Method, path: string, query: Query, body?: string): Promise<Answer<T>> {
    const url = this.urlOf(path, query);
    const message = await this.exchange(method, url, body, this.interrupt);
    const text = await bodyText(message, () => abortOf(this.interrupt) ?? brokenOff(method, url));
    if (message.statusCode !== 200) throw new AnswerFailure(message.statusCode ?? 0, text, message.headers);
    const { headers } = message;
    const answer = {
      index: Number(headers['x-nomad-index'] ?? 0),
      nextToken: headerText(headers, 'x-nomad-nexttoken'),
      traceId: headerText(headers, 'x-waybill-trace-id'),
      headers,
    };
    try {
      // The one place where the wire's text becomes a value of the type its endpoint answers; a write may have no text.
      const json = text === '' && method !== 'GET' ? 'null' : text;
      return { ...answer, value: JSON.parse(json) as T, exact: parseExact(json) };
    } catch {
      throw new ConnectionFailure(`${named(method, url)}: the answer is not valid JSON (no Waybill server?)`);
    }
  }

  private urlOf(path: string, query: Query): URL {
    const { url: base, region, namespace } = this.connection;
    const url = new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);
    for (const [name, value] of Object.entries({ region, namespace, ...query })) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
    }
    return url;
  }

  private async exchange(
    method: Method,
    url: URL,
    body: string | Buffer | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    for (let hops = 0; ; hops++) {
      const message = await this.send(method, url, this.headersFor(body), body, signal);
      const to = message.headers.location;
      const redirected = method === 'GET' && to !== undefined && /^30[12378]$/.test(String(message.statusCode));
      const next = redirected ? new URL(to, url) : undefined;
      if (!next || next.host !== url.host || hops === MAX_REDIRECTS) return message;
      message.resume();
      url = next;
    }
  }

  private async send(
    method: string,
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { socketPath, tls } = this.connection;
    const options: RequestOptions = {
      method,
      headers,
      agent: false,
      signal,
      ...(socketPath === undefined ? {} : { socketPath }),
      ...tlsOptions(tls),
    };
    const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    return new Promise((resolve, reject) => {
      const sent = request(url, options, resolve);
      sent.on('error', (error) => reject(failureOf(method, url, error)));
      sent.on('socket', (socket) => {
        if (!socket.connecting) return;
        const timer = setTimeout(
          () => sent.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1_000} s`)),
          CONNECT_TIMEOUT_MS,
        );
        const stop = () => clearTimeout(timer);
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', stop).once('close', stop);
      });
      sent.end(body);
    });
  }

  private headersFor(body: string | Buffer | undefined): Record<string, string> {
    const { token, basicAuth, reason } = this.connection;
    return {
      'User-Agent': `waybill-cli/${VERSION}`,
      'Accept-Encoding': 'gzip',
      traceparent: this.traceparent,
      ...Object.fromEntries(Object.entries(this.extraHeaders).map(([name, value]) => [name, encodeHeader(value)])),
      ...(token === undefined ? {} : { 'X-Nomad-Token': token }),
      ...(basicAuth === undefined ? {} : { Authorization: `Basic ${Buffer.from(basicAuth).toString('base64')}` }),
      ...(reason === undefined ? {} : { 'X-Waybill-Reason': encodeHeader(reason) }),
      ...(body === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
    };
  }
}

export function headerText(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

async function bodyText(message: IncomingMessage, broken: () => Error): Promise<string> {
  try {
    if (message.headers['content-encoding'] !== 'gzip') return await textOf(message);
    const { createGunzip } = await import('node:zlib');
    const { pipeline } = await import('node:stream/promises');
    const gunzip = createGunzip();
    const [text] = await Promise.all([textOf(gunzip), pipeline(message, gunzip)]);
    return text;
  } catch {
    throw broken();
  }
}

async function* chunksOf(message: IncomingMessage, broken: () => Error): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of message) yield chunk as Uint8Array;
  } catch {
    throw broken();
  }
}

/** What an aborted request rejects with; a body that is cut off by it says only that the connection broke. */
const abortOf = (signal: AbortSignal): Error | undefined =>
  signal.aborted ? new DOMException('The request was given up', 'AbortError') : undefined;

/** As Go clients write it: `Get "http://…"`. The URL never holds a user or password (CL-128). */
function named(method: string, url: URL): string {
  return `${method.charAt(0)}${method.slice(1).toLowerCase()} "${url.href}"`;
}

const brokenOff = (method: Method, url: URL): ConnectionFailure =>
  new ConnectionFailure(`${named(method, url)}: the connection broke off`);

const failureOf = (method: string, url: URL, error: Error): Error =>
  error.name === 'AbortError' ? error : new ConnectionFailure(`${named(method, url)}: ${reasonOf(error)}`);

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

/** Header values are Latin-1; other letters go as UTF-8 bytes, control characters not at all. */
function encodeHeader(text: string): string {
  // eslint-disable-next-line no-control-regex
  return Buffer.from(text.replaceAll(/[\u0000-\u001f\u007f]/g, ''), 'utf8').toString('latin1');
}
