import { settle, type Task } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aTask, FOREVER, setup } from '../fixtures/running-allocation.js';
import { aTemplate } from '../fixtures/task-template.js';

/** Runs a task under a driver. @returns its last validation error, and whether it runs */
async function started(task: Task, sendsSignals: boolean | undefined): Promise<[string | undefined, string]> {
  const { runner, driver, states } = setup([task]);
  Object.assign(driver, { sendsSignals });
  runner.runAllocation();
  await settle();
  const { Events } = runner.clientUpdate().TaskStates['web']!;
  return [Events.find(({ Type }) => Type === 'Failed Validation')?.Details['validation_error'], states()['web']!];
}

describe('the preparation of a task', () => {
  it('PG-52: a template or an identity that signals fails a task whose driver has no signals', async () => {
    const signals = aTask('web', FOREVER, { Templates: [aTemplate({ ChangeMode: 'signal', ChangeSignal: 'SIGHUP' })] });
    const refused = ['task driver does not support signals', 'dead failed'];
    expect(await started(signals, false)).toEqual(refused);
    expect(await started(signals, undefined)).toEqual([undefined, 'running']);
    const restarts = aTask('web', FOREVER, { Templates: [aTemplate({ ChangeMode: 'restart' })] });
    expect(await started(restarts, false)).toEqual([undefined, 'running']);
  });
});
