import type { Task, TaskState } from '@waybill/model';

export type TaskKind = 'prestart' | 'prestart-sidecar' | 'main' | 'poststart' | 'poststart-sidecar' | 'poststop';

/** Stages of an allocation, in order (agent.md section 10). */
export type Stage = 'init' | 'prestart' | 'main' | 'poststart' | 'running' | 'poststop';

export interface StagedTask {
  readonly kind: TaskKind;
  readonly state: Pick<TaskState, 'State' | 'Failed'>;
}

export function kindOf(task: Pick<Task, 'Lifecycle'>): TaskKind {
  switch (task.Lifecycle?.Hook) {
    case 'prestart':
      return task.Lifecycle.Sidecar ? 'prestart-sidecar' : 'prestart';
    case 'poststart':
      return task.Lifecycle.Sidecar ? 'poststart-sidecar' : 'poststart';
    case 'poststop':
      return 'poststop';
    default:
      return 'main';
  }
}

export const isSidecar = (kind: TaskKind): boolean => kind === 'prestart-sidecar' || kind === 'poststart-sidecar';

/** The stages in which a task of this kind may start, and start again (AG-96, AG-97). */
const OPEN: Readonly<Record<TaskKind, readonly Stage[]>> = {
  prestart: ['prestart'],
  'prestart-sidecar': ['prestart', 'main', 'poststart', 'running'],
  main: ['main', 'poststart', 'running'],
  poststart: ['poststart'],
  'poststart-sidecar': ['poststart', 'running'],
  poststop: ['poststop'],
};

export const isGateOpen = (stage: Stage, kind: TaskKind): boolean => OPEN[kind].includes(stage);

/** Returns the stage after `stage` that these states have reached (AG-91 to AG-95). Cost: O(tasks). */
export function stageAfter(stage: Stage, tasks: readonly StagedTask[]): Stage {
  let at = stage;
  for (;;) {
    const next = nextStage(at, tasks);
    if (next === at) return at;
    at = next;
  }
}

function nextStage(stage: Stage, tasks: readonly StagedTask[]): Stage {
  const others = tasks.filter((task) => task.kind !== 'poststop');
  if (stage !== 'poststop' && others.every((task) => task.state.State === 'dead')) return 'poststop';
  const all = (kind: TaskKind, is: (task: StagedTask) => boolean) =>
    tasks.filter((task) => task.kind === kind).every((task) => is(task));
  switch (stage) {
    case 'init':
      return tasks.every((task) => task.state.State === 'pending') ? 'prestart' : 'init';
    case 'prestart':
      return all('prestart', (task) => task.state.State === 'dead' && !task.state.Failed) &&
        all('prestart-sidecar', (task) => task.state.State === 'running')
        ? 'main'
        : 'prestart';
    case 'main':
      return all('main', (task) => task.state.State !== 'pending') ? 'poststart' : 'main';
    case 'poststart':
      return all('poststart', (task) => task.state.State === 'dead') ? 'running' : 'poststart';
    case 'running':
    case 'poststop':
      return stage;
  }
}

/** Says whether a task of this kind starts again after a success (AG-99). */
export function restartsOnSuccess(kind: TaskKind, jobType: string): boolean {
  if (kind === 'main') return jobType === 'service' || jobType === 'system';
  return isSidecar(kind);
}
