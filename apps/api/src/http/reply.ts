import type { ServerResponse, IncomingMessage } from 'node:http';
import { compactJson, indentedJson } from './printed-json.js';
import type { RequestAccess } from '../access/request-access.js';
import type { RequestNotes } from './request-notes.js';
import { param } from './query-string.js';
import type { RoutedRequest } from './routed-request.js';

/** ApiRequest has the members of Fastify's request that we use. */
export interface ApiRequest extends RoutedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly raw: IncomingMessage;
  readonly id: string;
  /** The access says what the request may see and do. */
  readonly access: RequestAccess;
  /** The notes receive what the audit log should record of the request. They are undefined if there is no audit log. */
  readonly notes?: RequestNotes | undefined;
}

/** ApiReply has the members of Fastify's reply that we use. */
export interface ApiReply {
  code(status: number): ApiReply;
  header(name: string, value: string | number): ApiReply;
  send(body?: unknown): ApiReply;
  hijack(): ApiReply;
  readonly raw: ServerResponse;
  readonly request: Pick<ApiRequest, 'notes'>;
}

/**
 * Takes an answer from the framework, for answers that are written to the connection piece by piece.
 * @throws Refusal internal if the answer may not begin because it cannot be recorded (AU-278)
 */
export async function beginStream(reply: ApiReply, status: number): Promise<ServerResponse> {
  await reply.request.notes?.beginsStream(status);
  reply.hijack();
  return reply.raw;
}

/**
 * Calls `run` when the connection of an answer closes. If it is closed already, it calls `run` at once, because `close`
 * is emitted only once.
 */
export function whenClosed(raw: ApiReply['raw'], run: () => void): void {
  if (raw.closed) run();
  else raw.once('close', run);
}

/** Calls `run` when the signal is aborted, or at once if it is already. */
export function whenAborted(signal: AbortSignal, run: () => void): void {
  if (signal.aborted) run();
  else signal.addEventListener('abort', run, { once: true });
}

/** ReadMeta is what a read returns besides its answer (API-31). */
export interface ReadMeta {
  /** The value of X-Nomad-Index; 0 if nothing of the kind was ever written (API-32). */
  readonly index: number;
  /** The age of the read model in milliseconds. */
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

/** Sends JSON in the form that the client asks for (API-11, API-19). */
export function sendJson(request: ApiRequest, reply: ApiReply, value: unknown, status = 200): void {
  const pretty = param(request.query, 'pretty');
  // Without these headers Nest would answer 201 to POST, and Fastify would add a character set for text.
  reply
    .code(status)
    .header('Content-Type', 'application/json')
    .send(pretty === undefined || pretty === '0' ? compactJson(value) : indentedJson(value));
}

/** Sends the answer of a handler that has no content (API-11). */
export const sendEmpty = (reply: ApiReply): void => {
  reply.code(200).send();
};
