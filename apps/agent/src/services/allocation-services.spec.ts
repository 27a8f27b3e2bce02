import { NS_PER_SECOND, type Service, type Task, type TaskGroup } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aCheck, aService } from '../fixtures/offered-service.js';
import { aTask, FOREVER, lifecycle, setup } from '../fixtures/running-allocation.js';
import type { AllocationRunner } from '../allocations/allocation-runner.js';
import { MAX_WITHDRAWAL_WAIT_MS } from './allocation-services.js';
import type { ProbeResult } from './probe.transport.js';
import type { ServiceRegistry } from './service-registry.js';

const HEALTHY: ProbeResult = { ok: true, output: 'nomad: http ok', statusCode: 200 };

/** Makes an allocation that records its registrations together with the states of its tasks at that moment. */
function offering(
  tasks: Task[],
  groupServices: Service[] = [],
  given: Partial<ServiceRegistry> = {},
  over: Partial<TaskGroup> = {},
) {
  const story: string[] = [];
  let answer = HEALTHY;
  const note = (what: string) => void story.push(`${what} while ${Object.values(alloc.states()).join('/')}`);
  const registry: ServiceRegistry = {
    register: async (_, services) => note(`+${services.map(({ ServiceName }) => ServiceName).join()}`),
    deregister: async (_, ids) => note(`-${ids.length}`),
    ...given,
  };
  const group = { Services: groupServices, ...over };
  const alloc = setup(tasks, { type: 'service', group, registry, probe: async () => answer });
  const answers = (result: ProbeResult) => void (answer = result);
  return { ...alloc, story, answers };
}

describe('the services of an allocation', () => {
  it('AG-141: the group offers before its tasks start, a task after it has started', async () => {
    const { time, runner, story } = offering(
      [aTask('web', FOREVER, { Services: [aService()] })],
      [aService({ Name: 'front' })],
    );
    runner.runAllocation();
    await time.pass(10);
    expect(story).toEqual(['+front while pending', '+web while running']);
  });

  describe('without an address', () => {
    const LOST = 'unable to get address for service "lost": invalid port "admin": port label not found';
    const lost = aService({ Name: 'lost', PortLabel: 'admin' });
    const messages = (runner: AllocationRunner, type: string) =>
      runner
        .clientUpdate()
        .TaskStates['web']?.Events.filter(({ Type }) => Type === type)
        .map(({ DisplayMessage }) => DisplayMessage);

    it('NW-112: one of the group fails the allocation before others are offered', async () => {
      const { time, runner, story } = offering([aTask('web', FOREVER)], [aService({ Name: 'front' }), lost]);
      runner.runAllocation();
      await time.pass(1_000);
      expect(runner.clientUpdate().ClientStatus).toBe('failed');
      expect(messages(runner, 'Setup Failure')).toEqual([expect.stringContaining(`failed to setup alloc: ${LOST}`)]);
      expect(story).toEqual([]);
    });

    it('NW-112: one of a task is an event of the task, told once, and others are offered', async () => {
      const Services = [aService(), lost];
      const { time, runner, story, alloc, events } = offering([aTask('web', FOREVER, { Services })]);
      runner.runAllocation();
      await time.pass(1_000);
      expect(story).toEqual(['+web while running']);
      runner.update({ ...alloc, AllocModifyIndex: 11 });
      await time.pass(1_000);
      expect(messages(runner, 'Task hook failed')).toEqual([`services: ${LOST}`]);
      expect(events('web')!.slice(-2)).toEqual(['Started', 'Task hook failed']); // its driver's network is known by then
      expect(runner.clientUpdate().ClientStatus).toBe('running');
    });

    it('NW-112: an allocation of an earlier agent goes on without the service, and its tasks say so', async () => {
      const { time, runner, records, alloc, make, serversAsked, story } = offering([aTask('web', FOREVER)]);
      runner.runAllocation();
      await time.pass(1_000);
      const [group] = alloc.Job!.TaskGroups;
      const Job = { ...alloc.Job!, TaskGroups: [{ ...group!, Services: [aService({ Name: 'front' }), lost] }] };
      const again = make(records.saved.get(alloc.ID));
      again.update({ ...alloc, Job, AllocModifyIndex: 11 });
      serversAsked.open();
      again.runAllocation();
      await time.pass(1_000);
      expect(again.clientUpdate().ClientStatus).toBe('running');
      expect(messages(again, 'Task hook failed')).toEqual([`services: ${LOST}`]);
      expect(story).toEqual(['+front while running']);
    });
  });

  it('AG-142: they are gone before the task is killed, and before shutdown_delay', async () => {
    const ShutdownDelay = 5 * NS_PER_SECOND;
    const { time, runner, story, events } = offering([
      aTask('web', FOREVER, { ShutdownDelay, Services: [aService()] }),
    ]);
    runner.runAllocation();
    await time.pass(10);
    void runner.kill();
    await time.pass(0);
    expect(story).toEqual(['+web while running', '-1 while running']);
    expect(events('web')).toContain('Waiting for shutdown delay');
    await time.pass(10_000);
    expect(runner.isOver).toBe(true);
    expect(story).toHaveLength(2);
  });

  it('AG-142, AG-160: they are gone before a restart in place puts the task down, and come back with it', async () => {
    const task = aTask('web', { run_for: '1000h', kill_after: '3s' }, { Services: [aService()] });
    const { time, runner, story } = offering([task], [aService({ Name: 'front' })]);
    runner.runAllocation();
    await time.pass(10);
    void runner.restart('web', false);
    await time.pass(1_000);
    expect(story.slice(2)).toEqual(['-1 while running']);
    await time.pass(5_000);
    expect(story.slice(3)).toEqual(['+web while running']);
  });

  it('AG-161: a restart of all that run takes the services of the group back for its delay', async () => {
    const group = { ShutdownDelay: 4 * NS_PER_SECOND };
    const { time, runner, story } = offering([aTask('web', FOREVER)], [aService({ Name: 'front' })], {}, group);
    runner.runAllocation();
    await time.pass(10);
    void runner.restart('', false);
    await time.pass(3_999);
    expect(story.slice(1)).toEqual(['-1 while running']);
    await time.pass(10);
    expect(story.slice(2)).toEqual(['+front while running']);
  });

  it('AG-150, AG-152: in a kill each task keeps its services until its own turn', async () => {
    const slow = { run_for: '1000h', kill_after: '3s' };
    const { time, runner, story } = offering([
      aTask('lead', slow, { Leader: true, Services: [aService({ Name: 'lead' })] }),
      aTask('web', FOREVER, { Services: [aService()] }),
    ]);
    runner.runAllocation();
    await time.pass(10);
    story.length = 0;
    void runner.kill();
    await time.pass(1_000);
    expect(story).toEqual(['-1 while running/running']);
    await time.pass(5_000);
    expect(story).toEqual(['-1 while running/running', '-1 while dead/running']);
  });

  it('AG-142: a task that ends takes its services along; another keeps its own', async () => {
    const init = aTask('init', { run_for: '2s' }, { ...lifecycle('prestart'), Services: [aService({ Name: 'init' })] });
    const { time, runner, story } = offering([init, aTask('web', FOREVER, { Services: [aService()] })]);
    runner.runAllocation();
    await time.pass(1_000);
    expect(story).toEqual(['+init while running/pending']);
    await time.pass(5_000);
    expect(story.slice(1).map((step) => step.split(' ')[0])).toEqual(['-1', '+web']);
  });

  it('AG-142: servers that do not answer hold a kill back only for a moment', async () => {
    const deregister = () => new Promise<never>(() => {});
    const { time, runner } = offering([aTask('web', FOREVER, { Services: [aService()] })], [], { deregister });
    runner.runAllocation();
    await time.pass(10);
    void runner.kill();
    await time.pass(MAX_WITHDRAWAL_WAIT_MS + 1_000);
    expect(runner.isOver).toBe(true);
  });

  it('AG-146: results are read, are on disk, and are there after a restart of the agent', async () => {
    const tasks = [aTask('web', FOREVER, { Services: [aService({ Checks: [aCheck()] })] })];
    const { time, runner, records, alloc, make } = offering(tasks);
    runner.runAllocation();
    await time.pass(10);
    expect(Object.values(runner.checks())).toMatchObject([{ Status: 'pending', Service: 'web', Task: 'web' }]);
    await time.pass(5_000);
    expect(Object.values(runner.checks())).toMatchObject([{ Status: 'success', Output: 'nomad: http ok' }]);
    const saved = records.saved.get(alloc.ID)!;
    expect(make(saved).checks()).toEqual(runner.checks());
    expect(saved.services?.registered).toHaveLength(1);
    const destroyed = runner.destroy();
    await time.pass(60_000);
    await destroyed;
    expect(records.saved.has(alloc.ID)).toBe(false);
  });

  it('AG-124: health waits for the checks', async () => {
    const tasks = [aTask('web', FOREVER, { Services: [aService({ Checks: [aCheck()] })] })];
    const { time, runner, answers } = offering(tasks);
    answers({ ok: false, output: '', statusCode: 500 });
    runner.runAllocation();
    await time.pass(60_000);
    expect(runner.clientUpdate().DeploymentStatus).toBeNull();
    answers(HEALTHY);
    await time.pass(25_000);
    expect(runner.clientUpdate().DeploymentStatus).toMatchObject({ Healthy: true });
  });
});
