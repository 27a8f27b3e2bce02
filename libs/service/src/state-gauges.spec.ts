import { WAYBILL_VERSION } from '@waybill/model';
import { Metrics } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { stateGauges } from './state-gauges.js';

const valuesOf = async (metrics: Metrics) =>
  (await metrics.figures('waybill_')).gauges.map(({ name, labels, value }) => [name, labels, value]);

it('a service tells its version, whether it is ready and how far it is, as it is when it is asked', async () => {
  const metrics = new Metrics('broker');
  const copy = { appliedIndex: 7, defects: 0 };
  let reasons: string[] = ['not connected to NATS'];
  stateGauges(metrics, { copy: () => copy, notReady: () => reasons });
  expect(await valuesOf(metrics)).toEqual([
    ['waybill_build_info', { version: WAYBILL_VERSION }, 1],
    ['waybill_ready', {}, 0],
    ['waybill_state_applied_index', {}, 7],
    ['waybill_state_defects', {}, 0],
  ]);
  reasons = [];
  Object.assign(copy, { appliedIndex: 8, defects: 1 });
  expect((await valuesOf(metrics)).slice(1)).toEqual([
    ['waybill_ready', {}, 1],
    ['waybill_state_applied_index', {}, 8],
    ['waybill_state_defects', {}, 1],
  ]);
});

it('one without a copy of the state claims no index', async () => {
  const metrics = new Metrics('agent');
  stateGauges(metrics, { copy: undefined, notReady: () => [] });
  expect((await valuesOf(metrics)).map(([name]) => name)).toEqual(['waybill_build_info', 'waybill_ready']);
});

it('a copy of the state that is not being loaded yet is at index 0', async () => {
  const metrics = new Metrics('broker');
  stateGauges(metrics, { copy: () => undefined, notReady: () => ['starting'] });
  expect((await valuesOf(metrics)).slice(1)).toEqual([
    ['waybill_ready', {}, 0],
    ['waybill_state_applied_index', {}, 0],
    ['waybill_state_defects', {}, 0],
  ]);
});
