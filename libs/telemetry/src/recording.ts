import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOffSampler, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

/** The number of spans that may wait for export. Further spans are dropped, so tracing never slows work down. */
const MAX_SPAN_QUEUE = 8192;
const MAX_SPAN_BATCH = 1024;
/** The longest time that a finished span waits for its batch, in milliseconds. */
const SPAN_DELAY_MS = 500;
/** The longest time that stop() waits for the last batch, in milliseconds. */
const SPAN_FLUSH_MS = 2000;

let contextShared = false;

/**
 * Registers globally how a context follows async calls. Nothing else is registered globally, and all services of a
 * process share it.
 */
function shareContext(): void {
  if (contextShared) return;
  contextShared = true;
  new NodeTracerProvider({ sampler: new AlwaysOffSampler() }).register();
}

/** Sends batches to an OTLP/HTTP receiver. @throws if the endpoint is not a URL */
export function exportTo(endpoint: string): SpanProcessor {
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    throw new Error(
      `OTEL_EXPORTER_OTLP_ENDPOINT=${JSON.stringify(endpoint)} is no URL that starts with http:// or https://`,
    );
  return new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` }), {
    maxQueueSize: MAX_SPAN_QUEUE,
    maxExportBatchSize: MAX_SPAN_BATCH,
    scheduledDelayMillis: SPAN_DELAY_MS,
    exportTimeoutMillis: SPAN_FLUSH_MS,
  });
}

/** Recording records the spans of one service from its construction until it stops. */
export class Recording {
  readonly provider: NodeTracerProvider;

  constructor(service: string, processor: SpanProcessor) {
    shareContext();
    this.provider = new NodeTracerProvider({
      resource: resourceFromAttributes({ 'service.name': `waybill-${service}` }),
      spanProcessors: [processor],
    });
  }

  flush(): Promise<void> {
    return this.provider.forceFlush();
  }

  /** Waits at most SPAN_FLUSH_MS, because an absent receiver must not keep a service from stopping. */
  async stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, SPAN_FLUSH_MS)));
    await Promise.race([this.provider.shutdown().catch(() => {}), late]);
    clearTimeout(timer);
  }
}
