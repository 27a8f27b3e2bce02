import { NS_PER_SECOND } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { type Driver, StartError, TaskNotFoundError } from '../drivers/driver.js';
import { aTask, FOREVER, lifecycle, setup } from '../fixtures/running-allocation.js';

const killing = (alloc: ReturnType<typeof setup>) =>
  alloc.runner.clientUpdate().TaskStates['web']?.Events.find(({ Type }) => Type === 'Killing');

describe('a kill', () => {
  it.each([
    [5, 30, '5s'],
    [30, 30, '30s'],
    [3_600, 30, '30s'],
    [3_600, 90, '1m30s'],
  ])('AG-155, AG-417: a kill_timeout of %i s is cut to the %i s of the agent', async (seconds, most, shown) => {
    const web = aTask('web', FOREVER, { KillTimeout: seconds * NS_PER_SECOND });
    const alloc = setup([web], { maxKillTimeoutMs: most * 1_000 });
    alloc.runner.runAllocation();
    await alloc.time.pass(10);
    void alloc.runner.kill();
    await alloc.time.pass(10);
    expect(killing(alloc)?.Details).toEqual({ kill_timeout: shown });
  });

  it('AG-156: a stop that fails is tried five times, 5 s, 20 s, 80 s and 2 min apart; then it is only waited for', async () => {
    const alloc = setup([aTask('web', { run_for: '1h' })]);
    const stops: number[] = [];
    alloc.driver.stop = async () => {
      stops.push(alloc.time.nowMs());
      throw new Error('no answer');
    };
    alloc.runner.runAllocation();
    await alloc.time.pass(10);
    const killedAt = alloc.time.nowMs();
    void alloc.runner.kill();
    await alloc.time.pass(30 * 60_000);
    expect(stops.map((at) => (at - killedAt) / 1_000)).toEqual([0, 5, 25, 105, 225]);
    expect(alloc.states()).toEqual({ web: 'running' });
    await alloc.time.pass(30 * 60_000);
    expect(alloc.states()).toEqual({ web: 'dead' });
  });

  it('AG-156: an exit between two tries ends them; a driver that does not know the task has stopped it', async () => {
    for (const [error, tries] of [
      [new Error('no answer'), 2],
      [new TaskNotFoundError('t'), 1],
    ] as const) {
      const alloc = setup([aTask('web', { run_for: '10s' })]);
      let stops = 0;
      alloc.driver.stop = async () => {
        stops++;
        throw error;
      };
      alloc.runner.runAllocation();
      await alloc.time.pass(10);
      void alloc.runner.kill();
      await alloc.time.pass(10 * 60_000);
      expect([stops, alloc.states()]).toEqual([tries, { web: 'dead' }]);
    }
  });

  it('AG-283: a start that may take minutes is given up', async () => {
    const alloc = setup([aTask('web', FOREVER)]);
    const start: Driver['start'] = (_config, _handle, _tell, unwanted) =>
      new Promise<void>((_resolve, reject) => {
        unwanted?.addEventListener('abort', () => reject(new StartError('given up')));
      });
    Object.assign(alloc.driver, { start });
    alloc.runner.runAllocation();
    await alloc.time.pass(60_000);
    expect(alloc.states()).toEqual({ web: 'pending' });
    void alloc.runner.kill();
    await alloc.time.pass(10);
    expect(alloc.states()).toEqual({ web: 'dead' });
    expect(alloc.runner.clientUpdate().ClientStatus).toBe('complete');
  });

  it('AG-415: an exit while it is put down is its result, and no failure', async () => {
    const alloc = setup([aTask('web', { run_for: '10s', exit_code: 7, kill_after: '1h' })], { type: 'service' });
    alloc.runner.runAllocation();
    await alloc.time.pass(1_000);
    void alloc.runner.kill();
    await alloc.time.pass(20_000);
    const { Events, Failed } = alloc.runner.clientUpdate().TaskStates['web']!;
    expect(Events.find(({ Type }) => Type === 'Terminated')?.Details).toMatchObject({ exit_code: '7' });
    expect([Failed, alloc.runner.clientUpdate().ClientStatus]).toEqual([false, 'complete']);
  });

  it('AG-420: one that does not stop holds up none of the others', async () => {
    const alloc = setup([aTask('stubborn', { ...FOREVER, kill_after: '1h' }), aTask('web', FOREVER)]);
    alloc.runner.runAllocation();
    await alloc.time.pass(10);
    void alloc.runner.kill();
    await alloc.time.pass(10);
    expect(alloc.states()).toEqual({ stubborn: 'running', web: 'dead' });
  });

  it('AG-421: removed from the machine a poststop task that ended stays dead', async () => {
    const alloc = setup([aTask('web', { run_for: '1s' }), aTask('last', { run_for: '1s' }, lifecycle('poststop'))]);
    alloc.runner.runAllocation();
    await alloc.time.pass(10_000);
    expect(alloc.states()).toEqual({ web: 'dead', last: 'dead' });
    await alloc.runner.destroy();
    expect(alloc.states()).toEqual({ web: 'dead', last: 'dead' });
  });

  it('AG-416: only a delay that is waited for is told', async () => {
    const alloc = setup([aTask('web', FOREVER)]);
    alloc.runner.runAllocation();
    await alloc.time.pass(10);
    void alloc.runner.kill();
    await alloc.time.pass(10);
    expect(alloc.events('web')).toEqual(['Received', 'Task Setup', 'Started', 'Killing', 'Terminated', 'Killed']);
  });

  it('AG-411: in the middle of its prestart hooks a task never starts, also when they end well', async () => {
    let done = (): void => {};
    const slow = { name: 'slow', prestart: () => new Promise<void>((resolve) => (done = resolve)) };
    const alloc = setup([aTask('web', FOREVER)], { hooks: () => [slow] });
    alloc.runner.runAllocation();
    await alloc.time.pass(10);
    alloc.runner.update({ ...alloc.alloc, DesiredStatus: 'stop', AllocModifyIndex: 11 });
    done();
    await alloc.time.pass(10);
    expect(alloc.states()).toEqual({ web: 'dead' });
    expect(alloc.events('web')).toEqual(['Received', 'Task Setup', 'Killing']);
  });
});
