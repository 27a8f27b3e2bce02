import * as rpc from '@waybill/rpc';
import { Metrics } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { callMeter } from './call-meter.js';

it('OP-104: calls are counted, refused ones beside, and what machines ask is timed', async () => {
  const metrics = new Metrics('nodes');
  const meter = callMeter(metrics);
  meter(rpc.registerNode.name, false, 20);
  meter(rpc.registerNode.name, true, 10);
  meter(rpc.allocsById.name, false, 5);
  const { counters, distributions } = await metrics.figures('waybill_nomad_');
  expect(counters.map(({ name, value }) => [name, value])).toEqual([
    ['waybill_nomad_rpc_request', 3],
    ['waybill_nomad_rpc_request_error', 1],
  ]);
  expect(distributions).toMatchObject([{ name: 'waybill_nomad_client_register', count: 2, sum: 0.03 }]);
});

it.each([
  [rpc.heartbeat, 'client_update_status'],
  [rpc.updateAllocs, 'client_update_alloc'],
  [rpc.nodeAllocs, 'client_get_client_allocs'],
  [rpc.updateNodeDrain, 'client_update_drain'],
])('OP-104: $name has a timer that dashboards know', async ({ name }, timer) => {
  const metrics = new Metrics('nodes');
  callMeter(metrics)(name, false, 1);
  const { distributions } = await metrics.figures('waybill_nomad_');
  expect(distributions.map((one) => one.name)).toEqual([`waybill_nomad_${timer}`]);
});
