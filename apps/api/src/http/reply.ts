import type { ServerResponse, IncomingMessage } from 'node:http';
import { compactJson, indentedJson } from './printed-json.js';
import type { RequestAccess } from '../access/request-access.js';
import type { RequestNotes } from './request-notes.js';
import { param } from './query-string.js';
import type { RoutedRequest } from './routed-request.js';

/** What we use of Fastify's request. */
export interface ApiRequest extends RoutedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly raw: IncomingMessage;
  readonly id: string;
  /** What the request may see and do. */
  readonly access: RequestAccess;
  /** What is told of it to the audit log; undefined: there is none. */
  readonly notes?: RequestNotes | undefined;
}

/** What we use of Fastify's reply. */
export interface ApiReply {
  code(status: number): ApiReply;
  header(name: string, value: string | number): ApiReply;
  send(body?: unknown): ApiReply;
  hijack(): ApiReply;
  readonly raw: ServerResponse;
  readonly request: Pick<ApiRequest, 'notes'>;
}

/**
 * Takes an answer out of the framework's hands, for what is written to its connection piece by piece.
 * @throws Refusal internal: the answer may not begin, because it cannot be recorded (AU-278)
 */
export async function beginStream(reply: ApiReply, status: number): Promise<ServerResponse> {
  await reply.request.notes?.beginsStream(status);
  reply.hijack();
  return reply.raw;
}

/** Calls `run` when the connection of an answer is closed; at once if it is, as its `close` comes only once. */
export function whenClosed(raw: ApiReply['raw'], run: () => void): void {
  if (raw.closed) run();
  else raw.once('close', run);
}

/** What a read knows beside its answer (API-31). */
export interface ReadMeta {
  /** X-Nomad-Index; 0: nothing of the kind was ever written (API-32). */
  readonly index: number;
  /** Age of the read model, ms. */
  readonly lastContactMs: number;
  readonly knownLeader: boolean;
  readonly nextToken?: string | undefined;
}

export function setReadHeaders(reply: ApiReply, meta: ReadMeta): void {
  reply.header('X-Nomad-Index', meta.index);
  reply.header('X-Nomad-LastContact', Math.round(meta.lastContactMs));
  reply.header('X-Nomad-KnownLeader', String(meta.knownLeader));
  if (meta.nextToken) reply.header('X-Nomad-NextToken', meta.nextToken);
}

export const setWriteIndex = (reply: ApiReply, index: number): void => {
  reply.header('X-Nomad-Index', index);
};

/** JSON as the client wants it (API-11, API-19). */
export function sendJson(request: ApiRequest, reply: ApiReply, value: unknown, status = 200): void {
  const pretty = param(request.query, 'pretty');
  // Nest would answer 201 to POST, and Fastify name a character set for text.
  reply
    .code(status)
    .header('Content-Type', 'application/json')
    .send(pretty === undefined || pretty === '0' ? compactJson(value) : indentedJson(value));
}

/** A handler with nothing to say (API-11). */
export const sendEmpty = (reply: ApiReply): void => {
  reply.code(200).send();
};
