import { describe, expect, it } from 'vitest';
import { Metrics } from './metrics.js';

describe('Metrics', () => {
  it('keeps the metrics of each service apart, with the service as a label', async () => {
    const broker = new Metrics('broker');
    const api = new Metrics('api');
    broker.counter('evals_total', 'evaluations', ['outcome']).inc({ outcome: 'ack' }, 2);
    api.gauge('depth', 'queue depth', { collect: () => 7 });
    expect(await broker.render()).toContain('waybill_evals_total{outcome="ack",service="broker"} 2');
    expect(await api.render()).toContain('waybill_depth{service="api"} 7');
    expect(await api.render()).not.toContain('evals_total');
  });

  it('gives the same metric when a name is asked for again', () => {
    const m = new Metrics('api');
    expect(m.counter('a_total', 'a')).toBe(m.counter('a_total', 'a'));
  });
});
