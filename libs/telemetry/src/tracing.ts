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
  /** Sends what is finished but not sent. */
  flush(): Promise<void>;
  /** Flushes within `SPAN_FLUSH_MS` and ends export of this service. */
  stop(): Promise<void>;
}

export interface TracingOptions {
  readonly service: string;
  /** Base URL of an OTLP/HTTP receiver (`OTEL_EXPORTER_OTLP_ENDPOINT`); without it nothing is recorded. */
  readonly endpoint?: string | undefined;
  /** Instead of the exporter, for tests. */
  readonly processor?: SpanProcessor;
}

const providers = new Map<string, TracerProvider>();
/** Records nothing, for services that do not trace. */
const silent = new ProxyTracerProvider();

/**
 * Begins tracing for one service under the resource name `waybill-<service>`. Several services of one process each
 * have their own provider. What records and exports is loaded only where something is recorded: it is some two hundred
 * modules, and a start without tracing need not wait for them.
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

/** The tracer of a service; records nothing until `startTracing` was called for it. Ask each time, it is a map look-up. */
export const tracerFor = (service: string): Tracer => (providers.get(service) ?? silent).getTracer('waybill');

/** The W3C `traceparent` of a span, of a context, or of what is active now; undefined outside any trace. */
export function traceparentOf(of?: Span | Context): string | undefined {
  const c = spanContextOf(of);
  if (!c || !isSpanContextValid(c)) return undefined;
  return `00-${c.traceId}-${c.spanId}-${c.traceFlags.toString(16).padStart(2, '0')}`;
}

function spanContextOf(of?: Span | Context): SpanContext | undefined {
  if (of === undefined) return trace.getSpanContext(context.active());
  return 'spanContext' in of ? of.spanContext() : trace.getSpanContext(of);
}

/** A context whose active span is the remote one that `traceparent` names; the root context if it names none. */
export function spanFrom(traceparent: string | undefined): Context {
  const parsed = traceparent ? parseTraceParent(traceparent) : null;
  return trace.setSpanContext(ROOT_CONTEXT, parsed ? { ...parsed, isRemote: true } : INVALID_SPAN_CONTEXT);
}

export interface SpanOptions {
  /** The parent; without it, the active span. */
  readonly traceparent?: string | undefined;
  readonly attributes?: Attributes;
  readonly kind?: SpanKind;
  /** Unix milliseconds, for something that began before it could be recorded (a wait in a queue). */
  readonly startTimeMs?: number;
}

/** Runs `fn` inside a span that ends with it; what it throws is recorded and thrown on. */
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
