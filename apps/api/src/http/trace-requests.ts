import { randomBytes } from 'node:crypto';
import { context, type Span, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { spanFrom, traceparentOf, type Tracer } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import type { ApiRequest } from './reply.js';

const spans = new WeakMap<object, Span>();

/**
 * The W3C trace context in which a request is answered, for what it causes: of its span, and where nothing is recorded
 * the caller's own or, of a write, a new one: what a request did is found in the log by its trace also where none is kept
 * (API-260, API-261).
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
    const started = tracer().startSpan(
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
    const isWrite = request.method !== 'GET';
    const span = isWrite && traceparentOf(started) === undefined ? spanOfNewTrace() : started;
    spans.set(request, span);
    if (isWrite) void reply.header('X-Waybill-Trace-Id', span.spanContext().traceId);
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

/** Names a trace that nobody records here; those behind this server may. */
function spanOfNewTrace(): Span {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return trace.wrapSpanContext({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
}
