import { FakeTime, nsFromMs } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { TaskEventLog } from './task-event-log.js';
import { NEW_STATE } from './task-record.js';

function setup() {
  const time = new FakeTime();
  let told = 0;
  const progress = new TaskEventLog(NEW_STATE, time, () => told++);
  return { time, progress, told: () => told };
}

describe('what a task tells of itself', () => {
  it('AG-1: the ten newest events', () => {
    const { progress } = setup();
    for (let i = 0; i < 13; i++) progress.emit(`event ${i}`);
    const types = progress.state.Events.map(({ Type }) => Type);
    expect([types.length, types[0], types.at(-1)]).toEqual([10, 'event 3', 'event 12']);
  });

  it('AG-3: by the clock of the agent', async () => {
    const { time, progress } = setup();
    await time.pass(1_234);
    progress.emit('Received');
    expect(progress.state.Events[0]?.Time).toBe(nsFromMs(time.nowMs()));
  });

  it('AG-4: an event with fails_task marks it as failed, and later ones leave it so', () => {
    const { progress } = setup();
    progress.emit('Setup Failure', { fails_task: 'true' });
    progress.emit('Killing');
    expect(progress.state.Failed).toBe(true);
  });

  it('AG-423: a state that somebody holds never changes under him', () => {
    const { progress } = setup();
    progress.emit('Received');
    const held = progress.state;
    const copy = structuredClone(held);
    progress.recordStart();
    progress.recordRestart(1_000, 'why');
    progress.recordDeath();
    expect(held).toEqual(copy);
    expect(progress.state).not.toBe(held);
  });

  it('frozen, nothing changes and nobody is told', () => {
    const { progress, told } = setup();
    progress.freeze();
    progress.emit('Received');
    progress.recordDeath();
    expect([progress.state, told()]).toEqual([NEW_STATE, 0]);
  });
});
