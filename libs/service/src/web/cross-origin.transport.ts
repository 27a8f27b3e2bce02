import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { Settings } from '../settings.js';
import { ServerNames } from './server-names.js';
import { judgeWebRequest, type WebAccess } from './cross-origin.js';

type Configured = Pick<
  Settings,
  | 'WAYBILL_HTTP_HOST'
  | 'WAYBILL_OPS_HOST'
  | 'WAYBILL_HTTP_ADVERTISE'
  | 'WAYBILL_HTTP_ALLOWED_HOSTS'
  | 'WAYBILL_HTTP_ALLOWED_ORIGINS'
>;

/**
 * Returns the names of the server: the machine's own name, the names at which it listens, its published names, and
 * those of the settings.
 */
export function webAccessOf(settings: Configured): WebAccess {
  const { WAYBILL_HTTP_ADVERTISE: advertised } = settings;
  const names = [
    hostname(),
    settings.WAYBILL_HTTP_HOST,
    settings.WAYBILL_OPS_HOST,
    advertised.slice(0, Math.max(0, advertised.lastIndexOf(':'))),
    ...settings.WAYBILL_HTTP_ALLOWED_HOSTS,
  ];
  return {
    names: new ServerNames(names.filter((name) => name !== '')),
    origins: new Set(settings.WAYBILL_HTTP_ALLOWED_ORIGINS),
  };
}

/** Headers that a page of an allowed origin may send and read, including the token header of Nomad's clients. */
const CORS_HEADERS = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, DELETE, OPTIONS',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, X-Nomad-Token',
  'Access-Control-Expose-Headers':
    'X-Nomad-Index, X-Nomad-KnownLeader, X-Nomad-LastContact, X-Nomad-NextToken, Retry-After',
  'Access-Control-Max-Age': '600',
  Vary: 'Origin',
} as const;

/**
 * Refuses requests of web pages with other origins, and requests under a name that is not the server's, before any
 * other handler. Answers the preflights of allowed pages.
 */
export function guardWebAccess(fastify: FastifyInstance, access: WebAccess): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const verdict = judgeWebRequest(request.raw, access);
    if (verdict.kind === 'own') return done();
    if (verdict.kind === 'refused') {
      void reply
        .code(verdict.status)
        .header('Content-Type', 'text/plain; charset=utf-8')
        .header('X-Content-Type-Options', 'nosniff')
        .header('Connection', 'close') // its body may never come, and nobody reads it
        .send(verdict.text);
      return;
    }
    // Set on the socket's response, because streams bypass Fastify's reply.
    reply.raw.setHeader('Access-Control-Allow-Origin', verdict.origin);
    for (const [name, value] of Object.entries(CORS_HEADERS)) reply.raw.setHeader(name, value);
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (!isPreflight) return done();
    void reply.code(204).send();
  });
}
