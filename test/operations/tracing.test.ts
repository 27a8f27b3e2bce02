import { afterAll, beforeAll, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let receiver: OtlpReceiver;
let waybill: WaybillProcesses;

beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  waybill = await WaybillProcesses.startTogether({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
  await eventually('the node is ready', async () =>
    (await waybill.api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
}, 120_000);
afterAll(async () => {
  await waybill?.stop();
  await receiver?.stop();
});

/** What one submitted job shows, over separate processes: service and name of each step, and the step it hangs on. */
const STEPS = [
  { service: 'waybill-api', name: 'PUT /v1/jobs', parent: undefined },
  { service: 'waybill-api', name: 'publish JobRegister', parent: 'PUT /v1/jobs' },
  { service: 'waybill-broker', name: 'broker wait', parent: 'publish JobRegister' },
  { service: 'waybill-scheduler', name: 'schedule', parent: 'publish JobRegister' },
  { service: 'waybill-broker', name: 'plan', parent: 'schedule' },
  { service: 'waybill-broker', name: 'apply', parent: 'plan' },
  { service: 'waybill-agent', name: 'agent start', parent: 'apply' },
  { service: 'waybill-nodes', name: 'first running', parent: 'agent start' },
] as const;

it('one trace leads from the submitted job to its first running status', async () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const answer = await waybill.api.raw('/v1/jobs', {
    method: 'PUT',
    headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    body: JSON.stringify({ Job: shellJob('traced', 'exec sleep 600') }),
  });
  expect(answer.headers.get('x-waybill-trace-id')).toBe(traceId);
  const spans = await eventually(
    'all steps are received',
    () => {
      const found = receiver.trace(traceId);
      return STEPS.every((step) => found.some((span) => span.name === step.name)) && found;
    },
    30_000,
  ).catch((error: unknown) => {
    const seen = receiver.trace(traceId).map((s) => `${s.service}: ${s.name}`);
    throw new Error(`${String(error)}; received ${seen.join(', ')}`);
  });
  for (const { service, name, parent } of STEPS) {
    const span = spans.find((s) => s.name === name)!;
    expect(span.service, name).toBe(service);
    if (parent !== undefined) expect(ancestors(spans, span), `${name} hangs below ${parent}`).toContain(parent);
  }
}, 60_000);

function ancestors(spans: readonly ReceivedSpan[], of: ReceivedSpan): string[] {
  const parent = spans.find((span) => span.spanId === of.parentSpanId);
  return parent ? [parent.name, ...ancestors(spans, parent)] : [];
}
