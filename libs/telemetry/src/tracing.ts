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
import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOffSampler, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

export { SpanKind } from '@opentelemetry/api';
export type { Attributes, Span, Tracer } from '@opentelemetry/api';

/** Spans waiting for export; more are dropped, tracing never slows work down. */
export const MAX_SPAN_QUEUE = 8192;
export const MAX_SPAN_BATCH = 1024;
/** How long a finished span may wait for its batch, milliseconds. */
export const SPAN_DELAY_MS = 500;
/** How long stop() waits for the last batch, milliseconds. */
export const SPAN_FLUSH_MS = 2000;

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

const providers = new Map<string, NodeTracerProvider>();
/** Records nothing, for services that do not trace. */
const silent = new ProxyTracerProvider();
let contextShared = false;

/**
 * Begins tracing for one service under the resource name `waybill-<service>`. Several services of one process each
 * have their own provider; what is registered globally is only the way a context follows async calls, which they share.
 */
export function startTracing(options: TracingOptions): Tracing {
  const { service } = options;
  const processor =
    options.processor ??
    (options.endpoint
      ? new BatchSpanProcessor(new OTLPTraceExporter({ url: `${options.endpoint.replace(/\/+$/, '')}/v1/traces` }), {
          maxQueueSize: MAX_SPAN_QUEUE,
          maxExportBatchSize: MAX_SPAN_BATCH,
          scheduledDelayMillis: SPAN_DELAY_MS,
          exportTimeoutMillis: SPAN_FLUSH_MS,
        })
      : undefined);
  if (!processor) return { enabled: false, flush: async () => {}, stop: async () => {} };

  if (!contextShared) {
    contextShared = true;
    new NodeTracerProvider({ sampler: new AlwaysOffSampler() }).register();
  }
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': `waybill-${service}` }),
    spanProcessors: [processor],
  });
  providers.set(service, provider);
  return {
    enabled: true,
    flush: () => provider.forceFlush(),
    stop: async () => {
      if (providers.get(service) === provider) providers.delete(service);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, SPAN_FLUSH_MS)));
      // A receiver that is gone must not keep a service from stopping.
      await Promise.race([provider.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
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
