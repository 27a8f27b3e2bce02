import { NS_PER_SECOND } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { aTask, FOREVER, setup } from './fixtures/running-alloc.js';

const killing = (alloc: ReturnType<typeof setup>) =>
  alloc.runner.report().TaskStates['web']?.Events.find(({ Type }) => Type === 'Killing');

describe('a kill', () => {
  it.each([
    [5, 30, '5s'],
    [30, 30, '30s'],
    [3_600, 30, '30s'],
    [3_600, 90, '1m30s'],
  ])('AG-155, AG-417: a kill_timeout of %i s is cut to the %i s of the agent', async (seconds, most, shown) => {
    const web = aTask('web', FOREVER, { KillTimeout: seconds * NS_PER_SECOND });
    const alloc = setup([web], { maxKillTimeoutMs: most * 1_000 });
    alloc.runner.run();
    await alloc.time.pass(10);
    void alloc.runner.kill();
    await alloc.time.pass(10);
    expect(killing(alloc)?.Details).toEqual({ kill_timeout: shown });
  });

  it('AG-416: only a delay that is waited for is told', async () => {
    const alloc = setup([aTask('web', FOREVER)]);
    alloc.runner.run();
    await alloc.time.pass(10);
    void alloc.runner.kill();
    await alloc.time.pass(10);
    expect(alloc.events('web')).toEqual(['Received', 'Task Setup', 'Started', 'Killing', 'Terminated', 'Killed']);
  });

  it('AG-411: in the middle of its prestart hooks a task never starts, also when they end well', async () => {
    let done = (): void => {};
    const slow = { name: 'slow', prestart: () => new Promise<void>((resolve) => (done = resolve)) };
    const alloc = setup([aTask('web', FOREVER)], { hooks: () => [slow] });
    alloc.runner.run();
    await alloc.time.pass(10);
    alloc.runner.update({ ...alloc.alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    done();
    await alloc.time.pass(10);
    expect(alloc.states()).toEqual({ web: 'dead' });
    expect(alloc.events('web')).toEqual(['Received', 'Task Setup', 'Killing']);
  });
});
