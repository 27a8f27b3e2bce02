import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, describe, expect, it } from 'vitest';
import { startTracing, traceparentOf, tracerFor, withSpan } from './tracing.js';
import type { Tracing } from './tracing.js';

const running: Tracing[] = [];
afterEach(async () => {
  for (const t of running.splice(0)) await t.stop();
});

async function traced(service: string): Promise<InMemorySpanExporter> {
  const exporter = new InMemorySpanExporter();
  running.push(await startTracing({ service, processor: new SimpleSpanProcessor(exporter) }));
  return exporter;
}

describe('tracing', () => {
  it.each(['garbage', 'grpc://there:4317', 'http://there:port'])(
    'to %s is refused, and the setting named',
    async (endpoint) => {
      await expect(startTracing({ service: 'api', endpoint })).rejects.toThrow(
        `OTEL_EXPORTER_OTLP_ENDPOINT="${endpoint}"`,
      );
    },
  );

  it('links a span to the one whose traceparent travelled with a message, across services of one process', async () => {
    const api = await traced('api');
    const broker = await traced('broker');
    const carried = await withSpan(tracerFor('api'), 'publish', {}, () => traceparentOf());
    await withSpan(tracerFor('broker'), 'wait', { traceparent: carried }, () => undefined);

    const [publish] = api.getFinishedSpans();
    const [wait] = broker.getFinishedSpans();
    expect(wait!.spanContext().traceId).toBe(publish!.spanContext().traceId);
    expect(wait!.parentSpanContext?.spanId).toBe(publish!.spanContext().spanId);
    expect(publish!.resource.attributes['service.name']).toBe('waybill-api');
    expect(wait!.resource.attributes['service.name']).toBe('waybill-broker');
  });

  it('nests by the active span over awaits', async () => {
    const api = await traced('api');
    await withSpan(tracerFor('api'), 'outer', {}, async () => {
      await Promise.resolve();
      await withSpan(tracerFor('api'), 'inner', {}, () => undefined);
    });
    const [inner, outer] = api.getFinishedSpans();
    expect(inner!.parentSpanContext?.spanId).toBe(outer!.spanContext().spanId);
  });

  it('records what was thrown and throws it on', async () => {
    const api = await traced('api');
    await expect(
      withSpan(tracerFor('api'), 'bad', {}, () => {
        throw new Error('boom');
      }),
    ).rejects.toThrow('boom');
    expect(api.getFinishedSpans()[0]!.status).toMatchObject({ message: 'boom' });
  });

  it('records nothing and gives no traceparent for a service that does not trace', async () => {
    await traced('api');
    expect(await withSpan(tracerFor('agent'), 'x', {}, () => traceparentOf())).toBeUndefined();
    expect((await startTracing({ service: 'agent' })).enabled).toBe(false);
  });
});
