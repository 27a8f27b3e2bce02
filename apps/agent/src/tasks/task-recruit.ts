import { type Allocation, type ChangeScript, isServerTerminal, type Task, type Timers } from '@waybill/model';
import type { AllocHost } from '../allocations/allocation-host.js';
import { AllocNotRunnableError, jobOf } from '../allocations/allocation-report.js';
import type { Gate } from '../waiting/gate.js';
import { RestartTracker } from './restart-tracker.js';
import type { Member } from './task-crew.js';
import { kindOf, restartsOnSuccess, type TaskKind } from './task-lifecycle.js';
import { TaskPreparation, type TaskRound, type WantedTask } from './task-preparation.js';
import type { TaskRecord } from './task-record.js';
import { TaskRunner } from './task-runner.js';
import { runScript } from './templates/change-script.js';

/** What a task knows of the allocation that it belongs to. */
export interface TaskSeat {
  readonly alloc: () => Allocation;
  /** The lifecycle lets tasks of this kind start. */
  readonly mayStart: (kind: TaskKind) => boolean;
  /** AG-154. */
  readonly delaysSkipped: Gate;
  /** AG-142: services of tasks that are on their way down are offered no longer. */
  readonly withdraw: () => Promise<void>;
  readonly save: () => Promise<void>;
  readonly changed: () => void;
}

/** Makes the runner of one task of an allocation. @throws AllocNotRunnableError when this machine lacks its driver */
export function recruitTask(task: Task, host: AllocHost, seat: TaskSeat, restored: TaskRecord | undefined): Member {
  const driver = host.drivers.get(task.Driver);
  if (!driver)
    throw new AllocNotRunnableError(`failed to create task runner: task driver "${task.Driver}" is not known`);
  const kind = kindOf(task);
  const { ID: allocId } = seat.alloc();
  const job = jobOf(seat.alloc());
  const { clock, timers, newId, random, serversAsked, logger } = host;
  const preparation = new TaskPreparation(host, driver.isolation ?? 'none');
  const wanted = (): WantedTask => ({ alloc: seat.alloc(), job: jobOf(seat.alloc()), task: runner.task });
  const runner: TaskRunner = new TaskRunner(
    task,
    {
      allocId,
      driver,
      maxKillTimeoutMs: host.maxKillTimeoutMs,
      clock,
      timers,
      newId,
      logger,
      restarts: new RestartTracker(task.RestartPolicy, restartsOnSuccess(kind, job.Type), clock, random),
      configure: (taskId) => preparation.configure(taskId, wanted()),
      prestart: (config, signal, over) => preparation.prestart(config, wanted(), roundOf(runner, signal, over, timers)),
      attach: async (taskId, signal, over) => {
        try {
          await preparation.attach(
            await preparation.configure(taskId, wanted()),
            wanted(),
            roundOf(runner, signal, over, timers),
          );
        } catch (error) {
          logger.error('a task goes on, but not all around it', { alloc: allocId, task: task.Name, error });
        }
      },
      isWanted: () => kind === 'poststop' || !isServerTerminal(seat.alloc()),
      mayStart: () => seat.mayStart(kind),
      withdraw: () => seat.withdraw(),
      delaysSkipped: seat.delaysSkipped,
      serversAsked,
      asksAfterLoss: job.Type !== 'system',
      save: () => seat.save(),
      changed: () => seat.changed(),
    },
    restored,
  );
  return { runner, kind };
}

function roundOf(runner: TaskRunner, signal: AbortSignal, over: AbortSignal, timers: Timers): TaskRound {
  const control = {
    restart: (reason: string) => runner.restart(reason),
    signal: (name: string, details: Record<string, string>) => runner.signal(name, details),
    kill: (details: Record<string, string>) => runner.kill(details),
    run: (script: ChangeScript) => runScript(runner, script, timers),
  };
  return { signal, over, emit: (type, details) => runner.emit(type, details), control };
}
