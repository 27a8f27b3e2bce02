import type { WebSocket } from '@waybill/websocket';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { abortOf, bodyText, brokenOff, chunksOf } from './answer-body.js';
import { AnswerFailure, ConnectionFailure } from './api-failure.js';
import type { Connection } from './connection.js';
import { type ExactJson, formatExact, parseExact } from '../terminal/exact-json.js';
import { WAYBILL_VERSION } from '@waybill/model/version';
import { exchange, named, type WireRequest, openWebSocket } from './wire.js';

export type Method = 'GET' | 'PUT' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const MAX_REDIRECTS = 5;

/** A successful response. */
export interface Answer<T> {
  /** Integers above 2^53 are rounded. Data for programs is printed from `exact`. */
  readonly value: T;
  readonly exact: ExactJson;
  /** `X-Nomad-Index`, or 0 without the header. */
  readonly index: number;
  /** `X-Nomad-NextToken`, or empty on the last page. */
  readonly nextToken: string;
  readonly traceId: string;
  readonly headers: IncomingHttpHeaders;
}

/** A request whose headers and URL its sender has built completely. */
export interface RawRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** A body that is read while it arrives. */
export interface StreamAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The API of one server: the form of its requests and the meaning of its responses. The run's signal aborts every
 * request, which then rejects with an AbortError.
 */
export class ApiClient {
  constructor(
    readonly connection: Connection,
    private readonly traceparent: string,
    private readonly interrupt: AbortSignal,
    private readonly extraHeaders: Readonly<Record<string, string>> = {},
  ) {}

  /** Returns a client for the same server with another region or namespace (CL-256). */
  within(scope: { readonly region?: string | undefined; readonly namespace?: string | undefined }): ApiClient {
    const { region = this.connection.region, namespace = this.connection.namespace } = scope;
    const there = { ...(region === undefined ? {} : { region }), ...(namespace === undefined ? {} : { namespace }) };
    return new ApiClient({ ...this.connection, ...there }, this.traceparent, this.interrupt, this.extraHeaders);
  }

  /** Returns a client for another server with the same settings. */
  at(address: string): ApiClient {
    const { socketPath: _, ...connection } = this.connection;
    return new ApiClient({ ...connection, url: new URL(address) }, this.traceparent, this.interrupt);
  }

  /** Returns a client whose requests `signal` aborts too. */
  until(signal: AbortSignal): ApiClient {
    const either = AbortSignal.any([signal, this.interrupt]);
    return new ApiClient(this.connection, this.traceparent, either, this.extraHeaders);
  }

  /** Returns a client whose requests have these headers too. */
  sending(headers: Readonly<Record<string, string>>): ApiClient {
    return new ApiClient(this.connection, this.traceparent, this.interrupt, { ...this.extraHeaders, ...headers });
  }

  /** @throws AnswerFailure, ConnectionFailure */
  async get<T>(path: string, query: Query = {}): Promise<Answer<T>> {
    return this.request<T>('GET', path, query);
  }

  /** @throws AnswerFailure, ConnectionFailure */
  async put<T>(path: string, body: ExactJson, query: Query = {}): Promise<Answer<T>> {
    return this.request<T>('PUT', path, query, formatExact(body, 0));
  }

  /** @throws AnswerFailure, ConnectionFailure */
  async delete<T>(path: string, query: Query = {}, body?: ExactJson): Promise<Answer<T>> {
    return this.request<T>('DELETE', path, query, body === undefined ? undefined : formatExact(body, 0));
  }

  /** Sends bytes unchanged. Resolves with the text of the response. @throws AnswerFailure, ConnectionFailure */
  async putBytes(path: string, body: Buffer): Promise<string> {
    const url = this.urlOf(path, {});
    const message = await this.follow('PUT', url, body, this.interrupt);
    const text = await bodyText(message, () => abortOf(this.interrupt) ?? brokenOff('PUT', url));
    if (message.statusCode !== 200) throw new AnswerFailure(message.statusCode ?? 0, text, message.headers);
    return text;
  }

  /**
   * Requests a response that continues until the server ends it. `signal` ends it from this side.
   * @throws AnswerFailure, ConnectionFailure
   */
  async stream(path: string, query: Query = {}, signal?: AbortSignal): Promise<StreamAnswer> {
    const url = this.urlOf(path, query);
    const end = signal ? AbortSignal.any([signal, this.interrupt]) : this.interrupt;
    const message = await this.follow('GET', url, undefined, end);
    const { headers, statusCode = 0 } = message;
    const broken = () => abortOf(end) ?? brokenOff('GET', url);
    if (statusCode !== 200) throw new AnswerFailure(statusCode, await bodyText(message, broken), headers);
    return { headers, body: chunksOf(message, broken) };
  }

  /**
   * Sends one request unchanged and returns any response. Redirects are not followed, and the body is not decompressed.
   * @throws ConnectionFailure
   */
  raw({ method, url, headers, body }: RawRequest): Promise<IncomingMessage> {
    return exchange(this.connection, { method, url, headers, signal: this.interrupt }, body);
  }

  /**
   * @param maxMessageBytes longest accepted message
   * @throws AnswerFailure if the server refuses, ConnectionFailure
   */
  async webSocket(path: string, query: Query, maxMessageBytes: number): Promise<WebSocket> {
    const url = this.urlOf(path, query);
    const asked = this.asked('GET', url, undefined, this.interrupt);
    const opened = await openWebSocket(this.connection, asked, maxMessageBytes);
    if (opened.kind === 'open') return opened.socket;
    const { answer } = opened;
    const text = await bodyText(answer, () => brokenOff('GET', url));
    throw new AnswerFailure(answer.statusCode ?? 0, text, answer.headers);
  }

  private async request<T>(method: Method, path: string, query: Query, body?: string): Promise<Answer<T>> {
    const url = this.urlOf(path, query);
    const message = await this.follow(method, url, body, this.interrupt);
    const text = await bodyText(message, () => abortOf(this.interrupt) ?? brokenOff(method, url));
    if (message.statusCode !== 200 && message.statusCode !== 204)
      throw new AnswerFailure(message.statusCode ?? 0, text, message.headers);
    const { headers } = message;
    const answer = {
      index: Number(headers['x-nomad-index'] ?? 0),
      nextToken: headerText(headers, 'x-nomad-nexttoken'),
      traceId: headerText(headers, 'x-waybill-trace-id'),
      headers,
    };
    try {
      // The only place where text of the wire gets the type of its endpoint's response. A write may have no text.
      const json = text === '' && method !== 'GET' ? 'null' : text;
      return { ...answer, value: JSON.parse(json) as T, exact: parseExact(json) };
    } catch {
      throw new ConnectionFailure(`${named({ method, url })}: the answer is not valid JSON (no Waybill server?)`);
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

  /** Sends a request and follows redirects of GET within the same host (CL-125). */
  private async follow(
    method: Method,
    url: URL,
    body: string | Buffer | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    for (let hops = 0; ; hops++) {
      const message = await exchange(this.connection, this.asked(method, url, body, signal), body);
      const to = message.headers.location;
      const redirected = method === 'GET' && to !== undefined && /^30[12378]$/.test(String(message.statusCode));
      const next = redirected ? new URL(to, url) : undefined;
      if (!next || next.host !== url.host || hops === MAX_REDIRECTS) return message;
      message.resume();
      url = next;
    }
  }

  private asked(method: Method, url: URL, body: string | Buffer | undefined, signal: AbortSignal): WireRequest {
    return { method, url, headers: this.headersFor(body), signal };
  }

  private headersFor(body: string | Buffer | undefined): Record<string, string> {
    const { token, basicAuth, reason } = this.connection;
    return {
      'User-Agent': `waybill-cli/${WAYBILL_VERSION}`,
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

/**
 * Encodes a header value. Headers are Latin-1, so other letters are sent as UTF-8 bytes, and control characters are
 * removed.
 */
function encodeHeader(text: string): string {
  // eslint-disable-next-line no-control-regex
  return Buffer.from(text.replaceAll(/[\u0000-\u001f\u007f]/g, ''), 'utf8').toString('latin1');
}
