import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ReadModel } from '@waybill/projection';
import type { Rpc } from '@waybill/rpc';
import { judgeWebRequest, type WebAccess } from '@waybill/service';
import { WebSocket } from '@waybill/websocket';
import type { FastifyInstance } from 'fastify';
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
      serve(peer, target, url.searchParams, deps)
        .catch((error: unknown) => deps.warn('an exec session failed', { error }))
        .finally(() => peers.delete(peer));
    });
  });
  fastify.addHook('preClose', async () => {
    for (const peer of peers) peer.destroy();
  });
}

async function serve(
  peer: WebSocket,
  target: ExecTarget,
  query: URLSearchParams,
  { model, rpc }: ExecUpgradeDependencies,
): Promise<void> {
  try {
    if (query.get('ws_handshake') === 'true') await greeted(peer);
    const { nodeId, request } = await execPlace(model, target, query);
    await runExec(rpc, nodeId, request, peer);
  } catch (error) {
    sendAway(peer, error);
  }
}

/** AG-320. Nothing is to be shown yet: there is no access control. @throws ExecMessageError */
async function greeted(peer: WebSocket): Promise<void> {
  tokenOf(await peer.first());
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
