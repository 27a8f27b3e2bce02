import type { EvalTrigger } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { acceptsTrigger, MAX_ATTEMPTS, schedulerTypeFor, UnknownSchedulerError } from './schedule.js';
import { SchedulingFixture } from './scheduling.fixture.js';

describe('the scheduler of an evaluation', () => {
  it('EB-339: is that of the stored job, or of the evaluation if the job is stopped or purged', () => {
    const world = new SchedulingFixture();
    const evaluation = fixtures.anEval({ Type: 'service' });
    const type = () => schedulerTypeFor(evaluation, world.state.tables);
    expect(type()).toBe('service');
    world.register(fixtures.aJob({ Type: 'system' }));
    expect(type()).toBe('system');
    world.stopJob('web');
    expect(type()).toBe('service');
  });

  it('SC-12: is unknown for any other type', () => {
    const { tables } = new SchedulingFixture().state;
    expect(() => schedulerTypeFor(fixtures.anEval({ Type: '_core' }), tables)).toThrow(UnknownSchedulerError);
    expect(() => schedulerTypeFor(fixtures.anEval({ Type: '_core' }), tables)).toThrow("unknown scheduler '_core'");
  });

  it.each<[EvalTrigger, boolean, boolean, boolean]>([
    ['job-register', true, true, true],
    ['node-update', true, true, true],
    ['reconnect', true, true, true],
    ['periodic-job', true, false, true],
    ['alloc-failure', true, false, false],
    ['max-disconnect-timeout', true, false, false],
    ['scheduled', false, false, false],
  ])('EB-30, SC-11: accepts %s: service and batch %s, system %s, sysbatch %s', (trigger, generic, system, sysbatch) => {
    const accepted = (['service', 'batch', 'system', 'sysbatch'] as const).map((type) => acceptsTrigger(type, trigger));
    expect(accepted).toEqual([generic, generic, system, sysbatch]);
  });

  it('EB-211: tries services and system jobs five times, batch jobs twice', () => {
    expect(MAX_ATTEMPTS).toEqual({ service: 5, batch: 2, system: 5, sysbatch: 2 });
  });
});
