import { randomBytes } from 'node:crypto';
import { context, type Span, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { spanFrom, traceparentOf, type Tracer } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import type { ApiRequest } from './reply.js';

const spans = new WeakMap<object, Span>();

/**
 * Returns the W3C trace context of a request, for the transactions that it causes. It is that of the request's span. If
 * nothing is recorded, it is the caller's own, or a new one for a write: so the log shows by its trace what a request
 * did, even if no trace is kept (API-260, API-261).
 */
export function traceOf(request: ApiRequest): string | undefined {
  const span = spans.get(request);
  return span && traceparentOf(span);
}

/**
 * Makes one server span per request, which continues the caller's trace (API-260). Its name is the route and not the
 * URL. This is a hook of our own, because patching the http module costs several times as much per request at any
 * sampling (docs/reference/stack.md 8).
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

/** Returns the span of a new trace that this process does not record. Services behind it may record it. */
function spanOfNewTrace(): Span {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return trace.wrapSpanContext({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
}
