import { SimulatedTime } from '@waybill/model';
import { Metrics } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { ContractWorkerMeter, timed } from './worker-meter.js';

it("workers' times have the contract's names, in seconds, and the scheduler's type as their only label", async () => {
  const metrics = new Metrics('scheduler');
  const meter = new ContractWorkerMeter(metrics);
  const clock = new SimulatedTime();
  const step = async (): Promise<never> => {
    clock.advance(1_500);
    throw new Error('no');
  };
  await expect(timed({ meter, clock }, 'worker.submit_plan', step)).rejects.toThrow('no');
  meter.invoked('_core', 20);
  const sums = (await metrics.render()).split('\n').filter((line) => line.includes('_sum{'));
  expect(sums).toEqual([
    'waybill_nomad_worker_submit_plan_sum{service="scheduler"} 1.5',
    'waybill_nomad_worker_invoke_scheduler_sum{service="scheduler",type="_core"} 0.02',
  ]);
});
