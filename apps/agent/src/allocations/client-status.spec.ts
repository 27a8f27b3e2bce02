import type { TaskState } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { statusOfTasks, withEnds } from './client-status.js';

const state = (State: TaskState['State'], Failed = false, FinishedAt: string | null = null): TaskState => ({
  State,
  Failed,
  Restarts: 0,
  LastRestart: null,
  StartedAt: null,
  FinishedAt,
  Events: [],
  Paused: '',
});
const statusOf = (...states: TaskState[]) =>
  statusOfTasks(Object.fromEntries(states.map((one, n) => [`t${n}`, one]))).ClientStatus;

describe('status of an allocation', () => {
  it('AG-70: from its tasks, with the description', () => {
    expect(statusOfTasks({ a: state('dead', true) })).toEqual({
      ClientStatus: 'failed',
      ClientDescription: 'Failed tasks',
    });
    expect(statusOfTasks({ a: state('running'), b: state('pending') }).ClientDescription).toBe('Tasks are running');
    expect(statusOfTasks({ a: state('pending'), b: state('dead') }).ClientDescription).toBe('No tasks have started');
    expect(statusOfTasks({ a: state('dead') })).toEqual({
      ClientStatus: 'complete',
      ClientDescription: 'All tasks have completed',
    });
  });

  it('AG-71, AG-72: a failed task makes it failed while others still run or never start', () => {
    expect(statusOf(state('dead', true), state('running'))).toBe('failed');
    expect(statusOf(state('dead', true), state('pending'))).toBe('failed');
  });

  it('AG-73: while a poststop task waits or runs it is not complete', () => {
    expect(statusOf(state('dead'), state('pending'))).toBe('pending');
    expect(statusOf(state('dead'), state('running'))).toBe('running');
  });

  it('AG-75: on a terminal status every task has an end, and one that it has stays', () => {
    const states = { a: state('dead', true, 'earlier'), b: state('running') };
    expect(withEnds(states, 'failed', 'now')).toMatchObject({ a: { FinishedAt: 'earlier' }, b: { FinishedAt: 'now' } });
    expect(withEnds(states, 'running', 'now')['b']?.FinishedAt).toBeNull();
    expect(states.b.FinishedAt).toBeNull();
  });
});
