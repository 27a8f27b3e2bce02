import { describe, expect, it } from 'vitest';
import {
  isGateOpen,
  kindOf,
  restartsOnSuccess,
  type Stage,
  stageAfter,
  type StagedTask,
  type TaskKind,
} from './task-lifecycle.js';

const task = (kind: TaskKind, State: 'pending' | 'running' | 'dead' = 'pending', Failed = false): StagedTask => ({
  kind,
  state: { State, Failed },
});

describe('task lifecycle', () => {
  it('AG-91, AG-92: without prestart tasks a new allocation is at main at once', () => {
    expect(stageAfter('init', [task('main')])).toBe('main');
  });

  it('AG-92: main waits for ephemeral prestart tasks to end well and for sidecars to run', () => {
    const at = (pre: StagedTask, side: StagedTask) => stageAfter('prestart', [pre, side, task('main')]);
    expect(at(task('prestart', 'running'), task('prestart-sidecar', 'running'))).toBe('prestart');
    expect(at(task('prestart', 'dead'), task('prestart-sidecar', 'pending'))).toBe('prestart');
    expect(at(task('prestart', 'dead', true), task('prestart-sidecar', 'running'))).toBe('prestart');
    expect(at(task('prestart', 'dead'), task('prestart-sidecar', 'running'))).toBe('main');
  });

  it('AG-93, AG-94: poststart when no main task is pending, running when the ephemeral ones are dead', () => {
    expect(stageAfter('main', [task('main', 'running'), task('main'), task('poststart')])).toBe('main');
    expect(stageAfter('main', [task('main', 'running'), task('poststart')])).toBe('poststart');
    expect(stageAfter('main', [task('main', 'running'), task('poststart', 'dead')])).toBe('running');
    expect(stageAfter('main', [task('main', 'running'), task('poststart-sidecar')])).toBe('running');
  });

  it('AG-95: poststop from any stage when all others are dead', () => {
    for (const stage of ['init', 'prestart', 'main', 'poststart', 'running'] as Stage[])
      expect(stageAfter(stage, [task('prestart', 'dead', true), task('main', 'dead'), task('poststop')])).toBe(
        'poststop',
      );
    expect(stageAfter('running', [task('main', 'dead'), task('poststart-sidecar', 'running'), task('poststop')])).toBe(
      'running',
    );
  });

  it('AG-96, AG-97: which gates are open when', () => {
    const open = (stage: Stage) =>
      (['prestart', 'prestart-sidecar', 'main', 'poststart', 'poststart-sidecar', 'poststop'] as TaskKind[]).filter(
        (kind) => isGateOpen(stage, kind),
      );
    expect(open('init')).toEqual([]);
    expect(open('prestart')).toEqual(['prestart', 'prestart-sidecar']);
    expect(open('main')).toEqual(['prestart-sidecar', 'main']);
    expect(open('poststart')).toEqual(['prestart-sidecar', 'main', 'poststart', 'poststart-sidecar']);
    expect(open('running')).toEqual(['prestart-sidecar', 'main', 'poststart-sidecar']);
    expect(open('poststop')).toEqual(['poststop']);
  });

  it('AG-98: after a recovery the stage is found again from the states, beginning at prestart', () => {
    expect(stageAfter('prestart', [task('prestart', 'dead'), task('main', 'running'), task('poststart', 'dead')])).toBe(
      'running',
    );
    expect(stageAfter('prestart', [task('prestart', 'running'), task('main')])).toBe('prestart');
  });

  it('AG-99: who starts again after ending well', () => {
    const types = ['service', 'system', 'batch', 'sysbatch'];
    expect(types.map((type) => restartsOnSuccess('main', type))).toEqual([true, true, false, false]);
    for (const kind of ['prestart-sidecar', 'poststart-sidecar'] as const)
      expect(restartsOnSuccess(kind, 'batch')).toBe(true);
    for (const kind of ['prestart', 'poststart', 'poststop'] as const)
      expect(restartsOnSuccess(kind, 'service')).toBe(false);
  });

  it('names the kind of a task', () => {
    expect(kindOf({ Lifecycle: null })).toBe('main');
    expect(kindOf({ Lifecycle: { Hook: 'prestart', Sidecar: true } })).toBe('prestart-sidecar');
    expect(kindOf({ Lifecycle: { Hook: 'poststop', Sidecar: false } })).toBe('poststop');
  });
});
