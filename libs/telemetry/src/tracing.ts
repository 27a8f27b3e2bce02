import {
  context,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Context, Span, SpanContext, Tracer, TracerProvider } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';

export { SpanKind } from '@opentelemetry/api';
export type { Attributes, Span, Tracer } from '@opentelemetry/api';

export interface Tracing {
  readonly enabled: boolean;
  /** Sends the spans that are finished and not yet sent. */
  flush(): Promise<void>;
  /** Flushes within `SPAN_FLUSH_MS` and ends the export of this service. */
  stop(): Promise<void>;
}

export interface TracingOptions {
  readonly service: string;
  /** The base URL of an OTLP/HTTP receiver (`OTEL_EXPORTER_OTLP_ENDPOINT`). Without it nothing is recorded. */
  readonly endpoint?: string | undefined;
  /** A processor that replaces the exporter in tests. */
  readonly processor?: SpanProcessor;
}

const providers = new Map<string, TracerProvider>();
/** The silent provider records nothing. Services that do not trace use it. */
const silent = new ProxyTracerProvider();

/**
 * Begins tracing for one service under the resource name `waybill-<service>`. Several services of one process each have
 * their own provider. The modules that record and export are loaded only if something is recorded: there are about two
 * hundred, and a start without tracing need not wait for them.
 */
export async function startTracing({ service, endpoint, processor }: TracingOptions): Promise<Tracing> {
  if (!processor && !endpoint) return { enabled: false, flush: async () => {}, stop: async () => {} };
  const { Recording, exportTo } = await import('./recording.js');
  const recording = new Recording(service, processor ?? exportTo(endpoint ?? ''));
  const { provider } = recording;
  providers.set(service, provider);
  return {
    enabled: true,
    flush: () => recording.flush(),
    stop: async () => {
      if (providers.get(service) === provider) providers.delete(service);
      await recording.stop();
    },
  };
}

/**
 * Returns the tracer of a service. It records nothing until `startTracing` was called for the service. Callers ask for
 * it each time; the cost is one map look-up.
 */
export const tracerFor = (service: string): Tracer => (providers.get(service) ?? silent).getTracer('waybill');

/**
 * Returns the W3C `traceparent` of a span, of a context, or of the active span. The result is undefined outside of any
 * trace.
 */
export function traceparentOf(of?: Span | Context): string | undefined {
  const c = spanContextOf(of);
  if (!c || !isSpanContextValid(c)) return undefined;
  return `00-${c.traceId}-${c.spanId}-${c.traceFlags.toString(16).padStart(2, '0')}`;
}

function spanContextOf(of?: Span | Context): SpanContext | undefined {
  if (of === undefined) return trace.getSpanContext(context.active());
  return 'spanContext' in of ? of.spanContext() : trace.getSpanContext(of);
}

/**
 * Returns a context whose active span is the remote span that `traceparent` names. It returns the root context if
 * `traceparent` names none.
 */
export function spanFrom(traceparent: string | undefined): Context {
  const parsed = traceparent ? parseTraceParent(traceparent) : null;
  return trace.setSpanContext(ROOT_CONTEXT, parsed ? { ...parsed, isRemote: true } : INVALID_SPAN_CONTEXT);
}

export interface SpanOptions {
  /** The parent. Without it the active span is the parent. */
  readonly traceparent?: string | undefined;
  readonly attributes?: Attributes;
  readonly kind?: SpanKind;
  /** The start in Unix milliseconds, for something that began before it could be recorded (a wait in a queue). */
  readonly startTimeMs?: number;
}

/** Runs `fn` inside a span and ends the span with it. An error of `fn` is recorded and thrown on. */
export async function withSpan<R>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  fn: (span: Span) => R | Promise<R>,
): Promise<R> {
  const parent = options.traceparent ? spanFrom(options.traceparent) : context.active();
  const span = tracer.startSpan(
    name,
    {
      kind: options.kind ?? SpanKind.INTERNAL,
      ...(options.attributes && { attributes: options.attributes }),
      ...(options.startTimeMs !== undefined && { startTime: options.startTimeMs }),
    },
    parent,
  );
  try {
    return await context.with(trace.setSpan(parent, span), () => fn(span));
  } catch (e) {
    const error = e instanceof Error ? e : new Error(String(e));
    span.recordException(error);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    throw e;
  } finally {
    span.end();
  }
}
