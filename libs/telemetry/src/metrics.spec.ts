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

it('a counter that is kept elsewhere is read each time', async () => {
  const metrics = new Metrics('test');
  let count = 2;
  metrics.counted('nomad_waybill_kept', 'x', () => count, { projection: 'postgres' });
  const value = async () => (await metrics.figures('waybill_nomad_waybill_')).counters;
  expect(await value()).toEqual([{ name: 'waybill_nomad_waybill_kept', labels: { projection: 'postgres' }, value: 2 }]);
  count = 5;
  expect((await value())[0]?.value).toBe(5);
});
