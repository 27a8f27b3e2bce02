import { settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aTask, FOREVER, setup } from '../fixtures/running-allocation.js';
import type { HookedTask, TaskHook } from '../tasks/task-hook.js';
import { AllocationContext } from './allocation-context.js';
import { type AllocationHook, CLOSED, OrderedAllocationHooks } from './allocation-hook.js';
import { allocationHooks } from './allocation-hooks.js';
import { AllocationTasks } from './allocation-tasks.js';
import type { AllocationRecord } from './records/allocation-record.js';

const control = {
  handleChange: () => {},
  checksChanged: () => {},
  save: async () => {},
  taskGoesDown: async () => {},
  kill: async () => {},
};

function contextOf({ alloc, agent }: ReturnType<typeof setup>): AllocationContext {
  return new AllocationContext({ alloc, agent, control, isRestored: false });
}

describe('the hooks of an allocation', () => {
  it('AG-80: run in the order of the reference', () => {
    const context = contextOf(setup([aTask('web', FOREVER)]));
    const names = allocationHooks(context, new AllocationTasks(context, {})).map(({ name }) => name);
    expect(names).toEqual([
      'address',
      'identities',
      'services',
      'max_run_duration',
      'health',
      'await_previous_allocations',
      'migrate_disk',
      'network',
      'csi',
      'group_services',
    ]);
  });

  it('AG-80: prerun waits for one after the other, and goes no further than a hook that fails or was closed', async () => {
    const story: string[] = [];
    const end: (() => void)[] = [];
    const waits = (name: string): AllocationHook => ({
      name,
      prerun: () => {
        story.push(name);
        return new Promise<void>((resolve) => end.push(resolve));
      },
    });
    const atOnce: AllocationHook = { name: 'at once', prerun: () => void story.push('at once') };
    const closed: AllocationHook = { name: 'closed', prerun: (): Promise<typeof CLOSED> => Promise.resolve(CLOSED) };
    const failing: AllocationHook = { name: 'failing', prerun: () => Promise.reject(new Error('no room')) };
    const prerun = new OrderedAllocationHooks([atOnce, waits('a'), waits('b'), closed, failing]).prerun();
    expect(story).toEqual(['at once', 'a']);
    end[0]?.();
    await settle();
    expect(story).toEqual(['at once', 'a', 'b']);
    end[1]?.();
    expect(await prerun).toBe(false);
    await expect(new OrderedAllocationHooks([failing, atOnce]).prerun()).rejects.toThrow('no room');
    expect(story).toEqual(['at once', 'a', 'b']);
  });

  it('AG-190: what each keeps is in one record, and comes back to it', () => {
    const restored: string[] = [];
    const keeps = (name: string, record: ReturnType<Required<AllocationHook>['record']>): AllocationHook => ({
      name,
      record: () => record,
      restore: ({ expired }) => void restored.push(`${name}: ${expired}`),
    });
    const hooks = new OrderedAllocationHooks([keeps('a', { expired: true }), keeps('b', { volumes: {} })]);
    expect(hooks.record()).toEqual({ expired: true, volumes: {} });
    hooks.restore({ expired: true } as AllocationRecord);
    expect(restored).toEqual(['a: true', 'b: true']);
  });
});

describe('the phase of an allocation', () => {
  it('AG-45, AG-192: it moves forward only', () => {
    const context = contextOf(setup([aTask('web', FOREVER)]));
    expect(context.enterPhase('preparing')).toBe(true);
    expect([context.isStopping, context.isReported]).toEqual([false, true]);
    expect(context.enterPhase('stopping')).toBe(true);
    expect(context.enterPhase('running')).toBe(false);
    expect([context.phase, context.isStopping, context.isReported]).toEqual(['stopping', true, true]);
    expect(context.enterPhase('suspended')).toBe(true);
    expect([context.enterPhase('ended'), context.isReported]).toEqual([false, false]);
    expect(context.enterPhase('removed')).toBe(true);
  });
});

describe('the hooks of a task', () => {
  it('AG-102: are called in order around each start, and one that fails is no obstacle', async () => {
    const story: string[] = [];
    const tells = (name: string): TaskHook => {
      const told =
        (point: string) =>
        async ({ task }: HookedTask): Promise<void> => {
          story.push(`${point} ${name} ${task.Name}`);
          if (point !== 'prestart') throw new Error('no matter');
        };
      return {
        name,
        prestart: told('prestart'),
        poststart: told('poststart'),
        exited: told('exited'),
        stop: told('stop'),
      };
    };
    const policy = { Attempts: 1, Interval: 3_600e9, Delay: 1e9, Mode: 'fail', RenderTemplates: false };
    const { time, runner, states } = setup([aTask('web', { run_for: '1s', exit_code: 1 }, { RestartPolicy: policy })], {
      hooks: () => [tells('a'), tells('b')],
    });
    runner.runAllocation();
    await time.pass(60_000);
    const round = ['prestart a', 'prestart b', 'poststart a', 'poststart b', 'exited a', 'exited b'];
    expect(story).toEqual([...round, ...round, 'stop a', 'stop b'].map((told) => `${told} web`));
    expect(states()).toEqual({ web: 'dead failed' });
  });
});
