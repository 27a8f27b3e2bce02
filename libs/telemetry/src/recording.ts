import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOffSampler, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

/** Spans waiting for export; more are dropped, tracing never slows work down. */
const MAX_SPAN_QUEUE = 8192;
const MAX_SPAN_BATCH = 1024;
/** How long a finished span may wait for its batch, milliseconds. */
const SPAN_DELAY_MS = 500;
/** How long stop() waits for the last batch, milliseconds. */
const SPAN_FLUSH_MS = 2000;

let contextShared = false;

/** What is registered globally is only the way a context follows async calls, which all services of a process share. */
function shareContext(): void {
  if (contextShared) return;
  contextShared = true;
  new NodeTracerProvider({ sampler: new AlwaysOffSampler() }).register();
}

/** Sends batches to an OTLP/HTTP receiver. @throws if that is no URL */
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

/** The spans of one service, from now until it stops. */
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

  /** A receiver that is gone must not keep a service from stopping: at most SPAN_FLUSH_MS. */
  async stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, SPAN_FLUSH_MS)));
    await Promise.race([this.provider.shutdown().catch(() => {}), late]);
    clearTimeout(timer);
  }
}
