import { SimulatedTime } from '@waybill/model';
import { Metrics } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { EvalTimers } from './eval-timers.js';

it('requests about evaluations are timed under their names, those that fail too', async () => {
  const metrics = new Metrics('api');
  const clock = new SimulatedTime();
  const timers = new EvalTimers(metrics, clock);
  const slow = async (): Promise<string> => {
    clock.advance(250);
    return 'done';
  };
  expect(await timers.timed('list', slow)).toBe('done');
  await expect(timers.timed('delete', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const sums = (await metrics.render()).split('\n').filter((line) => /_(sum|count)\{/.test(line));
  expect(sums).toContain('waybill_nomad_eval_list_sum{service="api"} 0.25');
  expect(sums).toContain('waybill_nomad_eval_delete_count{service="api"} 1');
});
