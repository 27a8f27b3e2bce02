import type { Service } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { StorageHost } from '../volumes/csi/allocation-storage.js';
import { Gate } from '../waiting/gate.js';
import { WAIT_NOTICE_MS } from '../waiting/wait-notice.js';
import type { TaskHook } from '../tasks/task-hook.js';
import { aService as aServiceOf } from '../fixtures/offered-service.js';
import { aTask, FOREVER, NO_RESTARTS, setup } from '../fixtures/running-allocation.js';
import type { ServiceRegistry } from '../services/service-registry.js';

const aService = (Name: string): Service => aServiceOf({ Name, PortLabel: '', Address: '10.0.0.1' });

/** Records the order of what happens to an allocation. */
function noted(over: Partial<ServiceRegistry> = {}) {
  const steps: string[] = [];
  const registry: ServiceRegistry = {
    register: async (_, services) => void steps.push(...services.map(({ ServiceName }) => `offer ${ServiceName}`)),
    deregister: async () => void steps.push('withdraw'),
    ...over,
  };
  const hook: TaskHook = { name: 'noting', prestart: async () => void steps.push('task') };
  return { steps, registry, hooks: () => [hook] };
}

describe('an allocation, step by step', () => {
  it('AG-80: it waits for those before it, takes their disk over, is offered, and only then prepares its tasks', async () => {
    const { steps, ...wiring } = noted();
    const { time, runner } = setup([aTask('web', FOREVER)], {
      ...wiring,
      group: { Services: [aService('db')], EphemeralDisk: { Sticky: true, Migrate: false, SizeMB: 1 } },
      alloc: { PreviousAllocation: 'before' },
      predecessorsEnded: async () => void steps.push('wait'),
      directories: { inheritDisk: async () => void steps.push('disk') },
    });
    runner.runAllocation();
    await time.pass(1_000);
    expect(steps).toEqual(['wait', 'disk', 'offer db', 'task']);
  });

  it('AG-80: what it waits for is told when that takes long, and again when it is something else', async () => {
    const before = new Gate();
    const claimed = new Gate();
    let waitsFor: (what: string) => void = () => {};
    const volumes = {
      prepare: (_: boolean, tell: (what: string) => void) => {
        waitsFor = tell;
        return claimed.opened;
      },
      release: async () => {},
      restore: () => {},
      record: () => ({}),
      isClosed: false,
      close: () => {},
      remainingMounts: () => [],
    };
    const csi: StorageHost = {
      volumesOf: () => volumes,
      removeVolumes: async () => {},
      supervisor: () => expect.unreachable('it is no plugin'),
    };
    const { time, runner } = setup([aTask('web', FOREVER)], {
      group: { Volumes: { data: fixtures.aVolumeRequest() } },
      alloc: { PreviousAllocation: 'before' },
      predecessorsEnded: () => before.opened,
      csi,
    });
    const told = () =>
      runner
        .clientUpdate()
        .TaskStates['web']?.Events.filter(({ Details }) => Details['message']?.startsWith('Waiting'));
    const messages = () => told()?.map(({ Details }) => Details['message']);
    runner.runAllocation();
    await time.pass(WAIT_NOTICE_MS - 1);
    expect(messages()).toEqual([]);
    await time.pass(1);
    const first = 'Waiting for the end of allocation before';
    expect(messages()).toEqual([first]);
    before.open();
    await time.pass(0);
    waitsFor('volume disk: volume max claims reached');
    await time.pass(10 * WAIT_NOTICE_MS);
    const second = 'Waiting for volume disk: volume max claims reached';
    expect(messages()).toEqual([first, second]);
    waitsFor('storage plugin disks');
    claimed.open();
    await time.pass(10 * WAIT_NOTICE_MS);
    expect(messages()).toEqual([first, second]);
    expect(runner.clientUpdate().ClientStatus).toBe('running');
  });

  it('AG-80: who is ended while it waits is told no more', async () => {
    const { time, runner } = setup([aTask('web', FOREVER)], {
      alloc: { PreviousAllocation: 'before' },
      predecessorsEnded: () => new Promise(() => {}),
    });
    runner.runAllocation();
    await time.pass(1);
    void runner.kill();
    await time.pass(10 * WAIT_NOTICE_MS);
    expect(runner.clientUpdate().TaskStates['web']?.Events.map(({ Type }) => Type)).not.toContain('Task Setup');
    expect(time.pending).toBe(0);
  });

  it('AG-90: services are withdrawn first, then volumes given back; the end is told without waiting for either', async () => {
    const { steps, ...wiring } = noted({
      deregister: () =>
        new Promise((resolve) => {
          const told = (): void => {
            steps.push(`withdraw after ${reports.at(-1)?.ClientStatus}`);
            resolve();
          };
          time.after(1_000, told);
        }),
    });
    const volumes = {
      prepare: async () => {},
      release: async () => void steps.push(`volumes after ${reports.at(-1)?.ClientStatus}`),
      restore: () => {},
      record: () => ({}),
      isClosed: false,
      close: () => {},
      remainingMounts: () => [],
    };
    const csi: StorageHost = {
      volumesOf: () => volumes,
      removeVolumes: async () => {},
      supervisor: () => {
        throw new Error('there are no plugins here');
      },
    };
    const { time, runner, reports } = setup([aTask('web', { run_for: '5s' })], {
      ...wiring,
      csi,
      group: { Services: [aService('db')], Volumes: { data: fixtures.aVolumeRequest() } },
    });
    runner.runAllocation();
    await time.pass(10_000);
    expect(steps).toEqual(['offer db', 'task', 'withdraw after complete', 'volumes after complete']);
  });

  it('AG-90: what cannot be given back after the end changes nothing about how it ended', async () => {
    const { steps, ...wiring } = noted({ deregister: () => Promise.reject(new Error('no servers')) });
    const { time, runner, reports } = setup([aTask('web', { run_for: '5s' })], {
      ...wiring,
      group: { Services: [aService('db')] },
    });
    runner.runAllocation();
    await time.pass(60_000);
    expect(steps).toContain('offer db');
    expect(runner.isOver).toBe(true);
    expect(reports.at(-1)).toMatchObject({ ClientStatus: 'complete', ClientDescription: 'All tasks have completed' });
  });

  it('AG-51: an update gives it new services and restarts nothing; one that wants it stopped kills all tasks', async () => {
    const { steps, ...wiring } = noted();
    const tasks = [aTask('web', FOREVER), aTask('db', FOREVER)];
    const { time, runner, alloc, states } = setup(tasks, { ...wiring, group: { Services: [aService('db')] } });
    runner.runAllocation();
    await time.pass(1_000);
    const group = alloc.Job!.TaskGroups[0]!;
    const Job = { ...alloc.Job!, TaskGroups: [{ ...group, Services: [aService('db'), aService('more')] }] };
    runner.update({ ...alloc, Job, AllocModifyIndex: 11 });
    await time.pass(1_000);
    expect(steps).toEqual(['offer db', 'task', 'task', 'offer more']);
    expect(Object.values(runner.clientUpdate().TaskStates).map(({ Restarts }) => Restarts)).toEqual([0, 0]);
    runner.update({ ...alloc, DesiredStatus: 'stop', AllocModifyIndex: 12 });
    await time.pass(1_000);
    expect(states()).toEqual({ web: 'dead', db: 'dead' });
  });

  it('AG-107: a task whose driver has lost it counts as ended, and starts again by policy', async () => {
    const RestartPolicy = { ...NO_RESTARTS, Attempts: 1, Interval: 3600e9 };
    const { time, runner, events } = setup([aTask('web', { ...FOREVER, plugin_exit_after: '5s' }, { RestartPolicy })]);
    runner.runAllocation();
    await time.pass(6_000);
    expect(events('web')!.slice(-4)).toEqual(['Started', 'Terminated', 'Restarting', 'Started']);
    await time.pass(6_000);
    expect(runner.clientUpdate().ClientStatus).toBe('failed');
  });

  it('AG-297: the name servers of its group’s network are told', () => {
    const DNS = { Servers: ['10.0.0.53'], Searches: null, Options: null };
    const { runner } = setup([aTask('web', FOREVER)], { group: { Networks: [fixtures.aNetwork({ DNS })] } });
    expect(runner.clientUpdate().NetworkStatus).toEqual({ InterfaceName: '', Address: '', AddressIPv6: '', DNS });
    expect(setup([aTask('web', FOREVER)]).runner.clientUpdate().NetworkStatus).toBeNull();
  });
});
