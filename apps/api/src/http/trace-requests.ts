import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { spanFrom, traceparentOf, type Tracer } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import type { ApiRequest } from './reply.js';

const spans = new WeakMap<object, Span>();

/**
 * The W3C trace context in which a request is answered, for what it causes: of its span, and where nothing is recorded
 * the caller's own, so that a trace goes on in the log also through a server that keeps none (API-260).
 */
export function traceOf(request: ApiRequest): string | undefined {
  const span = spans.get(request);
  return span && traceparentOf(span);
}

/**
 * One server span per request, continuing the caller's trace (API-260), named by route, not by URL. A hook of our own,
 * because patching the http module costs several times as much per request at any sampling (docs/reference/stack.md 8).
 */
export function traceRequests(fastify: FastifyInstance, tracer: () => Tracer): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const header = request.headers['traceparent'];
    const parent = spanFrom(typeof header === 'string' ? header : undefined);
    const route = request.routeOptions.url ?? '*';
    const span = tracer().startSpan(
      `${request.method} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': request.url.split('?', 1)[0] ?? '',
        },
      },
      parent,
    );
    spans.set(request, span);
    const traceId = traceparentOf(span)?.split('-')[1];
    if (traceId && request.method !== 'GET') void reply.header('X-Waybill-Trace-Id', traceId);
    context.with(trace.setSpan(parent, span), done);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request);
    span?.setAttribute('http.response.status_code', reply.statusCode);
    if (reply.statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    done();
  });
}
