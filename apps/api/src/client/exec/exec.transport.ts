import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { DEFAULT_NAMESPACE, errorText, HTTP_STATUS_OF, Refusal } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import { type Rpc, UserRpc } from '@waybill/rpc';
import { judgeWebRequest, type WebAccess } from '@waybill/service';
import { WebSocket } from '@waybill/websocket';
import type { FastifyInstance } from 'fastify';
import type { Caller } from '../../access/caller.js';
import type { CallerWatches } from '../../access/caller-watch.js';
import { RefusedCredential } from '../../access/callers.js';
import { credentialOf, type RouteGuard } from '../../access/routes.guard.js';
import type { Recorder } from '../../audit/request-audit.js';
import { SessionAudit } from '../../audit/session-audit.transport.js';
import { ofObject } from '../../access/needs.js';
import { RequestAccess } from '../../access/request-access.js';
import { whenAborted } from '../../http/reply.js';
import { type RequestLimit, TOO_MANY_REQUESTS } from '../../http/request-limit.js';
import { ExecMessageError, tokenOf } from './exec-messages.js';
import { execPlace, type ExecTarget, execTargetOf } from './exec-request.js';
import { endSession, runExec, sendAway } from './exec-session.js';
import { callUserOf } from '../../access/call-user.js';

/** The largest size of a client's message in bytes: a piece of stdin, as base64 in JSON. */
const MAX_MESSAGE_BYTES = 256 * 1024;
/** The interval of pings in milliseconds. They detect a client that has gone. */
const PING_MS = 10_000;

export interface ExecUpgradeDependencies {
  readonly model: ReadModel;
  readonly rpc: Rpc;
  /** The region of this server. A session is not forwarded to another region. */
  readonly region: string;
  readonly access: WebAccess;
  /** The limit of requests. A session counts as one request. */
  readonly limit: Pick<RequestLimit, 'countRequest'>;
  /** The guard finds out who opens a session and what they may do. */
  readonly guard: RouteGuard;
  /** The watches end a session with the caller's token. */
  readonly watches: CallerWatches;
  readonly warn: (text: string, fields: Record<string, unknown>) => void;
  /** The recorder of the audit log. It is undefined if there is no audit log. */
  readonly recorder: Recorder | undefined;
}

/**
 * Serves `/v1/client/allocation/:id/exec` and `/v1/job/:id/action` (AG-320). Fastify does not handle WebSockets, so
 * this code takes the handshake. It refuses pages of other origins here, because browsers send no preflight request for
 * a WebSocket.
 */
export function serveExec(fastify: FastifyInstance, deps: ExecUpgradeDependencies): void {
  const peers = new Set<WebSocket>();
  fastify.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    const url = urlOf(request);
    const audit = deps.recorder && new SessionAudit(deps.recorder, request, url);
    const open = (): void => {
      if (url === undefined) return refuseSession(socket, NO_SESSION, audit);
      const found = sessionOf(request, url, deps);
      if ('status' in found) return refuseSession(socket, found, audit);
      WebSocket.accept({ request, socket, head }, { maxMessageBytes: MAX_MESSAGE_BYTES, pingMs: PING_MS }, (peer) => {
        peers.add(peer);
        serve(peer, found.target, { query: url.searchParams, credential: credentialOf(request), audit }, deps)
          .catch((error: unknown) => deps.warn('an exec session failed', { error }))
          .finally(() => peers.delete(peer));
      });
    };
    if (audit) audit.received().then(open, () => answer(socket, NOT_RECORDED));
    else open();
  });
  fastify.addHook('preClose', async () => {
    for (const peer of peers) peer.destroy();
  });
}

/** Turned is a session that was refused before it began. */
interface Turned {
  readonly status: number;
  readonly text: string;
  readonly retryAfterS?: number;
}

const NO_SESSION: Turned = { status: 404, text: 'there is no WebSocket at this path' };
const NOT_RECORDED: Turned = { status: 500, text: 'failed to write audit record' };

/** Returns the URL of a request. The result is undefined for a target such as `//`, which is not a URL. */
const urlOf = ({ url = '/' }: IncomingMessage): URL | undefined =>
  URL.canParse(url, 'http://api') ? new URL(url, 'http://api') : undefined;

function sessionOf(
  request: IncomingMessage,
  url: URL,
  { access, limit, region: own }: ExecUpgradeDependencies,
): Turned | { readonly target: ExecTarget } {
  const verdict = judgeWebRequest(request, access);
  if (verdict.kind === 'refused') return verdict;
  const retryAfterS = limit.countRequest(request.socket.remoteAddress ?? '');
  if (retryAfterS > 0) return { status: 429, text: TOO_MANY_REQUESTS, retryAfterS };
  const target = execTargetOf(url.pathname);
  if (target === undefined) return NO_SESSION;
  const region = url.searchParams.get('region');
  if (region && region !== own) return { status: 400, text: 'sessions in another region are not passed on' };
  return { target };
}

/**
 * ExecOpening says how a client opens a session. A client that cannot set headers sends its token as its first message
 * (AG-320).
 */
interface ExecOpening {
  readonly query: URLSearchParams;
  readonly credential: string | undefined;
  readonly audit: SessionAudit | undefined;
}

/** The right that a session needs. Tasks on the machine's own files need more (`execPlace`). */
const EXEC = ofObject('alloc-exec');

async function serve(
  peer: WebSocket,
  target: ExecTarget,
  { query, credential, audit }: ExecOpening,
  { model, rpc, guard, watches }: ExecUpgradeDependencies,
): Promise<void> {
  try {
    const greeting = query.get('ws_handshake') === 'true' ? tokenOf(await peer.first()) : '';
    const queried = query.get('namespace') || DEFAULT_NAMESPACE;
    const secret = credential ?? greeting;
    const caller = await callerOf(guard, secret, audit);
    const access = new RequestAccess(caller, EXEC, queried, guard.namespaces);
    const { nodeId, request } = await execPlace(model, target, { query, access });
    await audit?.begins();
    const watch = await watches.open(secret);
    try {
      whenAborted(watch.ended, () => endSession(peer, watch.ended.reason));
      await runExec(new UserRpc(rpc, callUserOf(caller)), nodeId, request, peer);
    } finally {
      watch.close();
    }
  } catch (error) {
    await audit?.completed({ status: statusOf(error), error: errorText(error) }).catch(() => {});
    sendAway(peer, error);
  }
}

async function callerOf({ callers }: RouteGuard, credential: string, audit: SessionAudit | undefined): Promise<Caller> {
  try {
    const caller = await callers.of(credential);
    audit?.isFrom(caller);
    return caller;
  } catch (error) {
    if (error instanceof RefusedCredential) audit?.refused(credential);
    throw error;
  }
}

/** Returns the status with which a plain request would be refused. */
function statusOf(error: unknown): number {
  if (error instanceof Refusal) return HTTP_STATUS_OF[error.code];
  return error instanceof ExecMessageError ? 400 : 500;
}

function refuseSession(socket: Duplex, turned: Turned, audit: SessionAudit | undefined): void {
  const told = audit?.completed({ status: turned.status, error: turned.text }) ?? Promise.resolve();
  told.then(
    () => answer(socket, turned),
    () => answer(socket, NOT_RECORDED),
  );
}

function answer(socket: Duplex, { status, text, retryAfterS }: Turned): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    ...(retryAfterS === undefined ? [] : [`Retry-After: ${retryAfterS}`]),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
