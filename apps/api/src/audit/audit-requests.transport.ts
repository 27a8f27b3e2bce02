import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { credentialOf } from '../access/routes.guard.js';
import type { QueryString } from '../http/query-string.js';
import { type ApiRequest, whenClosed } from '../http/reply.js';
import type { RequestNotes } from '../http/request-notes.js';
import { traceOf } from '../http/trace-requests.js';
import { type Recorder, RequestAudit } from './request-audit.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The notes receive what the audit log should record of the request. They are undefined if there is no audit log.
     */
    notes: RequestNotes | undefined;
  }
}

const audits = new WeakMap<object, RequestAudit>();
/** The texts of error answers, before they are compressed. */
const errors = new WeakMap<object, string>();

const NOT_RECORDED = 'failed to write audit record';
const ERROR = 400;

/**
 * Records requests before every other hook runs. A request whose first record cannot be written has no effect (AU-272,
 * AU-278).
 */
export function auditRequests(fastify: FastifyInstance, recorder: Recorder): void {
  fastify.decorateRequest('notes', undefined);
  fastify.addHook('onRequest', async (request, reply) => {
    const audit = new RequestAudit(recorder, seenRequest(request), answering(request, reply));
    audits.set(request, audit);
    request.notes = audit;
    try {
      await audit.received();
    } catch {
      await reply.code(500).header('Content-Type', 'text/plain; charset=utf-8').send(NOT_RECORDED);
    }
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= ERROR && typeof payload === 'string') errors.set(request, payload);
    done(null, payload);
  });
}

/** Records answers after every other hook has run. The answer that is sent is the recorded one, or 500 (AU-278). */
export function completeAudits(fastify: FastifyInstance): void {
  fastify.addHook('onSend', async (request, reply, payload) => {
    const audit = audits.get(request);
    if (!audit || audit.isCompleted) return payload;
    const index = Number(reply.getHeader('X-Nomad-Index') ?? 0);
    try {
      await audit.completed({ status: reply.statusCode, index, error: errors.get(request) ?? '' });
      return payload;
    } catch {
      return notRecorded(reply);
    }
  });
}

/** Returns the text that replaces the answer. The effects of the request remain. */
function notRecorded(reply: FastifyReply): string {
  for (const name of ['Content-Encoding', 'Content-Length']) reply.removeHeader(name);
  reply.code(500).header('Content-Type', 'text/plain; charset=utf-8');
  return NOT_RECORDED;
}

const seenRequest = (request: FastifyRequest) => ({
  id: randomUUID(),
  method: request.method,
  url: request.url,
  route: request.routeOptions.url,
  query: request.query as QueryString,
  userAgent: request.headers['user-agent'] ?? '',
  credential: credentialOf(request),
  remoteAddress: request.socket.remoteAddress ?? '',
  localAddress: request.socket.localAddress ?? '',
});

const answering = (request: FastifyRequest, { raw }: FastifyReply) => ({
  caller: () => request.access?.caller,
  traceId: () => traceOf(request as ApiRequest)?.split('-')[1],
  body: () => request.body,
  sentBytes: () => request.socket.bytesWritten,
  whenClosed: (run: () => void) => whenClosed(raw, run),
});
