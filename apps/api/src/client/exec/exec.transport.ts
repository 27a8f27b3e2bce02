import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { DEFAULT_NAMESPACE } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Rpc } from '@waybill/rpc';
import { judgeWebRequest, type WebAccess } from '@waybill/service';
import { WebSocket } from '@waybill/websocket';
import type { FastifyInstance } from 'fastify';
import { credentialOf, type RouteGuard } from '../../access/routes.guard.js';
import { ofObject } from '../../access/needs.js';
import { RequestAccess } from '../../access/request-access.js';
import { type RequestLimit, TOO_MANY_REQUESTS } from '../../http/request-limit.js';
import { tokenOf } from './exec-messages.js';
import { execPlace, type ExecTarget, execTargetOf } from './exec-request.js';
import { runExec, sendAway } from './exec-session.js';

/** What a client may send in one message: stdin in pieces, as base64 in JSON. */
const MAX_MESSAGE_BYTES = 256 * 1024;
/** A client that is not there any more is noticed by this. */
const PING_MS = 10_000;

export interface ExecUpgradeDependencies {
  readonly model: ReadModel;
  readonly rpc: Rpc;
  /** This one: a session is not passed on to another. */
  readonly region: string;
  readonly access: WebAccess;
  /** A session counts as one request. */
  readonly limit: Pick<RequestLimit, 'take'>;
  /** Who opens a session, and what they may do. */
  readonly guard: RouteGuard;
  readonly warn: (text: string, fields: Record<string, unknown>) => void;
}

/**
 * `/v1/client/allocation/:id/exec` and `/v1/job/:id/action` (AG-320). A WebSocket is no request to Fastify, so its handshake is taken here. Pages
 * of other origins are refused here as everywhere: browsers send no question before they open one.
 */
export function serveExec(fastify: FastifyInstance, deps: ExecUpgradeDependencies): void {
  const peers = new Set<WebSocket>();
  fastify.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    const verdict = judgeWebRequest(request, deps.access);
    if (verdict.kind === 'refused')
      return refuse(socket, `${verdict.status} ${STATUS_CODES[verdict.status]}`, verdict.text);
    const retryAfterS = deps.limit.take(request.socket.remoteAddress ?? '');
    if (retryAfterS > 0)
      return refuse(socket, '429 Too Many Requests', TOO_MANY_REQUESTS, `Retry-After: ${retryAfterS}`);
    const url = new URL(request.url ?? '/', 'http://api');
    const target = execTargetOf(url.pathname);
    if (target === undefined) return refuse(socket, '404 Not Found', 'there is no WebSocket at this path');
    const region = url.searchParams.get('region');
    if (region && region !== deps.region)
      return refuse(socket, '400 Bad Request', 'sessions in another region are not passed on');
    WebSocket.accept(request, socket, head, { maxMessageBytes: MAX_MESSAGE_BYTES, pingMs: PING_MS }, (peer) => {
      peers.add(peer);
      serve(peer, target, { query: url.searchParams, credential: credentialOf(request) }, deps)
        .catch((error: unknown) => deps.warn('an exec session failed', { error }))
        .finally(() => peers.delete(peer));
    });
  });
  fastify.addHook('preClose', async () => {
    for (const peer of peers) peer.destroy();
  });
}

/** How a client opens a session; one that cannot set headers sends its token as its first message (AG-320). */
interface ExecOpening {
  readonly query: URLSearchParams;
  readonly credential: string | undefined;
}

/** What a session needs; tasks on the machine's own files need more (`execPlace`). */
const EXEC = ofObject('alloc-exec');

async function serve(
  peer: WebSocket,
  target: ExecTarget,
  { query, credential }: ExecOpening,
  { model, rpc, guard }: ExecUpgradeDependencies,
): Promise<void> {
  try {
    const greeting = query.get('ws_handshake') === 'true' ? tokenOf(await peer.first()) : '';
    const queried = query.get('namespace') || DEFAULT_NAMESPACE;
    const caller = await guard.callers.of(credential ?? greeting);
    const access = new RequestAccess(caller, EXEC, queried, guard.namespaces);
    const { nodeId, request } = await execPlace(model, target, { query, access });
    await runExec(rpc, nodeId, request, peer);
  } catch (error) {
    sendAway(peer, error);
  }
}

function refuse(socket: Duplex, status: string, text: string, ...headers: readonly string[]): void {
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    ...headers,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
