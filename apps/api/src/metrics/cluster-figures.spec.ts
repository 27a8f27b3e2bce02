import { asJson, asPrometheusText, Metrics } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { shownOf } from './cluster-figures.js';

/** Two services of one host, which keep what the broker and the workers of the contract do. */
async function shown() {
  const broker = new Metrics('broker');
  broker.gauge('nomad_broker_total_ready', 'x', { collect: () => 7 });
  broker.gauge('nomad_broker_ready', 'x', {
    labels: ['type'],
    collectInto: (gauge) => gauge.set({ type: 'service' }, 3),
  });
  broker.gauge('lease_age', 'not of the contract', { collect: () => 1 });
  broker.counter('nomad_plan_node_rejected', 'x', ['node_id']).inc({ node_id: 'n"1' }, 2);
  const scheduler = new Metrics('scheduler');
  for (const metrics of [broker, scheduler]) {
    const timer = metrics.histogram('nomad_plan_submit', 'x');
    for (const seconds of [0.00390625, 0.00390625, 0.00390625, 0.25]) timer.observe(seconds);
  }
  scheduler.histogram('nomad_worker_invoke_scheduler', 'x', ['type']).observe({ type: 'batch' }, 0.01);
  const figures = async (metrics: Metrics) => ({ ...(await metrics.figures('waybill_')), host: { host: 'h' } });
  return shownOf([await figures(broker), await figures(scheduler)]);
}

describe('metrics as dashboards know them', () => {
  it('OP-101: JSON in the shape of the reference, sorted by name; nothing without a name in the contract', async () => {
    const json = asJson(await shown(), Date.UTC(2026, 0, 2, 3, 4), 10);
    expect(json).toMatchObject({
      Timestamp: '2026-01-02 03:04:00 +0000 UTC',
      Gauges: [
        { Name: 'nomad.nomad.broker.service.ready', Value: 3, Labels: { host: 'h' } },
        { Name: 'nomad.nomad.broker.total_ready', Value: 7, Labels: { host: 'h' } },
      ],
      Points: [],
      Counters: [
        { Name: 'nomad.nomad.plan.node_rejected', Count: 2, Rate: 0.2, Labels: { node_id: 'n"1', host: 'h' } },
      ],
      Samples: [
        { Name: 'nomad.nomad.plan.submit', Count: 8, Labels: { host: 'h' } },
        { Name: 'nomad.nomad.worker.invoke_scheduler.batch', Count: 1, Labels: { host: 'h' } },
      ],
    });
  });

  it('OP-104: requests to other regions are counted under the name of each', async () => {
    const metrics = new Metrics('api');
    metrics.counter('nomad_rpc_cross_region', 'x', ['type']).inc({ type: 'eu-west' }, 3);
    const { counters } = shownOf([{ ...(await metrics.figures('waybill_')), host: {} }]);
    expect(counters).toEqual([{ name: 'nomad.nomad.rpc.cross-region.eu-west', labels: {}, value: 3 }]);
  });

  it('OP-102, OP-103: Prometheus names without dots, times in milliseconds as summaries', async () => {
    const lines = asPrometheusText(await shown()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'nomad_nomad_broker_total_ready{host="h"} 7',
        'nomad_nomad_broker_service_ready{host="h"} 3',
        String.raw`nomad_nomad_plan_node_rejected{node_id="n\"1",host="h"} 2`,
        '# TYPE nomad_nomad_plan_submit summary',
        'nomad_nomad_plan_submit_sum{host="h"} 523.4375',
        'nomad_nomad_plan_submit_count{host="h"} 8',
      ]),
    );
    const median = lines.find((line) => line.startsWith('nomad_nomad_plan_submit{host="h",quantile="0.5"}'));
    const ms = Number(median?.split(' ')[1]);
    expect(ms).toBeGreaterThan(2.5);
    expect(ms).toBeLessThanOrEqual(5);
  });
});
