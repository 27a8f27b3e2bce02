import {
  appendTaskEvent,
  type Clock,
  newTaskEvent,
  nsFromMs,
  rfc3339FromMs,
  type TaskEvent,
  type TaskState,
} from '@waybill/model';
import type { ExitResult } from '../drivers/driver.js';

/**
 * TaskEventLog holds the state of a task with its events. The state is immutable; each change replaces it (AG-423).
 *
 * States: open → frozen: the agent is ending, and nothing more is reported. Limit: MAX_TASK_EVENTS of the model.
 */
export class TaskEventLog {
  private frozen = false;

  constructor(
    private current: TaskState,
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  get state(): TaskState {
    return this.current;
  }

  get isFrozen(): boolean {
    return this.frozen;
  }

  freeze(): void {
    this.frozen = true;
  }

  /** Adds an event together with a change of the state. The detail `fails_task` marks the task as failed. */
  emit(type: string, details: Record<string, string> = {}, change: Partial<TaskState> = {}): void {
    if (this.frozen) return;
    const event: TaskEvent = newTaskEvent(type, nsFromMs(this.clock.nowMs()), details);
    const Failed = this.current.Failed || details['fails_task'] === 'true';
    this.current = { ...this.current, ...change, Failed, Events: appendTaskEvent(this.current.Events, event) };
    this.changed();
  }

  recordStart(): void {
    this.emit('Started', {}, { State: 'running', StartedAt: this.now() });
  }

  recordTermination({ ExitCode, Signal, OOMKilled, Err }: ExitResult): void {
    this.emit('Terminated', {
      exit_code: String(ExitCode),
      signal: String(Signal),
      oom_killed: String(OOMKilled),
      ...(Err !== '' && { exit_message: Err }),
    });
  }

  recordRestart(delayMs: number, reason: string): void {
    const details = { start_delay: String(nsFromMs(delayMs)), restart_reason: reason };
    this.emit('Restarting', details, { State: 'pending', ...this.oneMoreRestart() });
  }

  /** Returns a dead task to pending, and forgets that it has failed (AG-162). */
  recordRevival(): void {
    this.current = { ...this.current, Failed: false };
    const details = { start_delay: '0', restart_reason: '' };
    this.emit('Restarting', details, { State: 'pending', FinishedAt: null, ...this.oneMoreRestart() });
  }

  notRestarting(reason: string): void {
    this.emit('Not Restarting', { restart_reason: reason, fails_task: 'true' }, this.deadNow());
  }

  /** Marks the task as dead without an event, because the event before says why. */
  recordDeath(): void {
    if (this.frozen || this.current.State === 'dead') return;
    this.current = { ...this.current, ...this.deadNow() };
    this.changed();
  }

  /** Marks a task whose process is gone without an end as pending, so that it starts again. It reports nothing. */
  lostItsProcess(): void {
    if (this.current.State === 'running') this.current = { ...this.current, State: 'pending' };
  }

  private oneMoreRestart(): Pick<TaskState, 'Restarts' | 'LastRestart'> {
    return { Restarts: this.current.Restarts + 1, LastRestart: this.now() };
  }

  private deadNow(): Pick<TaskState, 'State' | 'FinishedAt'> {
    return { State: 'dead', FinishedAt: this.current.FinishedAt ?? this.now() };
  }

  private now(): string {
    return rfc3339FromMs(this.clock.nowMs());
  }
}
