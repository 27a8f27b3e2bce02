import type { AllocClientStatus, TaskState } from '@waybill/model';

/** The description of an expired allocation, and the reason of its kill (AG-77). */
export const EXPIRED = 'allocation exceeded max_run_duration';

export interface ClientState {
  readonly ClientStatus: AllocClientStatus;
  readonly ClientDescription: string;
}

/** Returns the client status of an allocation from the states of its tasks (AG-70 to AG-73). */
export function statusOfTasks(states: Readonly<Record<string, TaskState>>): ClientState {
  const all = Object.values(states);
  if (all.some((s) => s.State === 'dead' && s.Failed)) return status('failed', 'Failed tasks');
  if (all.some((s) => s.State === 'running')) return status('running', 'Tasks are running');
  if (all.some((s) => s.State === 'pending')) return status('pending', 'No tasks have started');
  return status('complete', 'All tasks have completed');
}

/** Gives each task of a terminal allocation an end. The servers count reschedules from it (AG-75). */
export function withEnds(
  states: Readonly<Record<string, TaskState>>,
  clientStatus: AllocClientStatus,
  now: string,
): Record<string, TaskState> {
  const terminal = clientStatus === 'complete' || clientStatus === 'failed';
  return Object.fromEntries(
    Object.entries(states).map(([task, state]) => [
      task,
      { ...state, Events: [...state.Events], FinishedAt: terminal ? (state.FinishedAt ?? now) : state.FinishedAt },
    ]),
  );
}

function status(ClientStatus: AllocClientStatus, ClientDescription: string): ClientState {
  return { ClientStatus, ClientDescription };
}
