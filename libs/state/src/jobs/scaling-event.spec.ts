import { expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { MAX_SCALING_EVENTS } from './scaling-event.js';

const { aMachine, aRegisteredJob, apply } = fixtures;

function scaled() {
  const machine = aMachine();
  aRegisteredJob(machine);
  const register = (TaskGroup: string, Count: number, JobID = 'web') => {
    const event = { Time: 1, Count, PreviousCount: 0, Message: '', Error: false, Meta: null, EvalID: null };
    const payload = { JobID, TaskGroup, ScalingEvent: { ...event, CreateIndex: 0 } };
    return apply(machine, 'ScalingEventRegister', payload, { namespace: 'default' });
  };
  return { machine, register, row: () => machine.tables.scaling_event.get('default/web') };
}

it('type 38: newest first, twenty per group, each with its index; no event is sent (API-408)', () => {
  const { register, row } = scaled();
  const first = register('other', 7);
  expect(eventsOf(first)).toBeNull();
  for (let count = 1; count <= MAX_SCALING_EVENTS + 1; count++) register('web', count);
  const { ScalingEvents, CreateIndex, ModifyIndex } = row()!;
  expect(ScalingEvents['web']!.map(({ Count }) => Count)).toEqual(
    Array.from({ length: MAX_SCALING_EVENTS }, (_, i) => MAX_SCALING_EVENTS + 1 - i),
  );
  expect(ScalingEvents['web']![0]!.CreateIndex).toBe(ModifyIndex);
  expect(ScalingEvents['other']).toMatchObject([{ Count: 7, CreateIndex }]);
});

it('ST-65: they go with the job; an event of an unknown job changes nothing', () => {
  const { machine, register, row } = scaled();
  register('web', 2);
  const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
  apply(machine, 'JobDeregister', purge, { namespace: 'default' });
  expect(row()).toBeUndefined();
  expect(register('web', 2).verdict.kind).toBe('noop');
});
