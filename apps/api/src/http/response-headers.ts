import type { FastifyInstance } from 'fastify';
import { pathOf } from './path.js';

/** The reads that web pages of other origins may make, with their methods (API-34). */
const OPEN_TO_PAGES: readonly { readonly path: RegExp; readonly methods: string }[] = [
  { path: /^\/v1\/client\/(fs\/|stats$|allocation\/|metadata$|identity)/, methods: 'HEAD,GET' },
  { path: /^\/v1\/vars$/, methods: 'HEAD,GET' },
  { path: /^\/v1\/var\//, methods: 'HEAD,GET,PUT,DELETE' },
];

/** Adds the configured headers to every answer, streams and refusals included (API-24). */
export function addConfiguredHeaders(fastify: FastifyInstance, configured: Readonly<Record<string, string>>): void {
  fastify.addHook('onRequest', (_request, { raw }, done) => {
    // The headers go on the socket's own answer, because streams do not pass through Fastify's reply.
    for (const [name, value] of Object.entries(configured)) raw.setHeader(name, value);
    done();
  });
}

/**
 * Adds headers for browsers: those that let web pages read (API-34), whose requests arrive only from allowed origins,
 * and those that keep a browser from running what a task wrote (API-79).
 */
export function addPageHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const path = pathOf(request.url);
    const { raw } = reply;
    const open = OPEN_TO_PAGES.find((one) => one.path.test(path));
    if (open) {
      raw.setHeader('Access-Control-Allow-Origin', '*');
      raw.setHeader('Access-Control-Allow-Headers', '*');
      raw.setHeader('Access-Control-Allow-Credentials', 'true');
      raw.setHeader('Access-Control-Allow-Methods', open.methods);
      if (request.method === 'OPTIONS') {
        reply.code(204).send(); // a page asks before it sends headers of its own
        return;
      }
    }
    if (path.startsWith('/v1/client/fs/')) {
      raw.setHeader('X-Content-Type-Options', 'nosniff');
      raw.setHeader('X-XSS-Protection', '1; mode=block');
      raw.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    }
    done();
  });
}
