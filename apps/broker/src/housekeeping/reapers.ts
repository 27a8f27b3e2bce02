import {
  CORE_TYPE,
  isTerminalEvaluation,
  modifyTimeOf,
  newEvaluation,
  NS_PER_MINUTE,
  nsFromMs,
  type CancelTimer,
  type Clock,
  type Evaluation,
  type Timers,
  NotHolderError,
} from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { namespacedKey, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import type { BlockedEvals } from '../blocked/blocked-evals.js';
import type { EvalBroker } from '../queue/eval-broker.js';
import { FAILED_QUEUE } from '../queue/tracked-evaluations.js';
import type { Delivery } from '../queue/waiting-dequeues.js';

/** Evaluations canceled in one transaction (EB-95). */
export const CANCEL_BATCH = 728;
/** Longest interval between two checks for superseded and duplicate evaluations (EB-96). */
export const CANCEL_SWEEP_MS = 5_000;
/** Interval at which evaluations that ran out of plan attempts are unblocked (EB-186). */
export const UNBLOCK_FAILED_MS = 60_000;
/** Interval at which the unblock log is pruned (EB-191). */
export const PRUNE_MS = 5 * 60_000;
/** Pause of a reaper after a failed write. */
export const REAPER_RETRY_MS = 1_000;
/** The follow-up of a failed evaluation waits this long, and a random part of the jitter (EB-103). */
export const FOLLOW_UP_WAIT_NS = NS_PER_MINUTE;
export const FOLLOW_UP_JITTER_NS = 5 * NS_PER_MINUTE;

export interface ReapersDeps {
  readonly broker: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly tables: Tables;
  readonly writer: Pick<HolderWriter, 'write'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly random: () => number;
  readonly deliveryLimit: number;
  readonly logger: Logger;
}

/**
 * Cleans up evaluations: writes superseded and duplicate ones as canceled, fails those that reached the delivery limit (with
 * a delayed follow-up), and unblocks those that ran out of plan attempts.
 *
 * Modes: running (`start`) → stopped (`stop`). One batch of cancellations is written at a time, and the next follows while
 * there are more, so that the log sets the pace (EB-96). Evaluations that could not be written are put back until the next
 * sweep (EB-98). Limits: CANCEL_BATCH, CANCEL_SWEEP_MS.
 */
export class Reapers {
  private stopped = false;
  private canceling = false;
  private wokenMeanwhile = false;
  private readonly cancelTimers = new Set<CancelTimer>();

  constructor(private readonly deps: ReapersDeps) {}

  start(): void {
    this.every(CANCEL_SWEEP_MS, () => this.wakeCanceler());
    this.every(UNBLOCK_FAILED_MS, () => this.deps.blocked.unblockFailed());
    this.every(PRUNE_MS, () => this.deps.blocked.prune());
    void this.reapFailed();
  }

  stop(): void {
    this.stopped = true;
    for (const cancel of this.cancelTimers) cancel();
    this.cancelTimers.clear();
  }

  /** Starts canceling after an ack, or when a duplicate appeared. No caller waits for it (EB-77, EB-97). */
  wakeCanceler(): void {
    if (this.stopped) return;
    this.wokenMeanwhile = this.canceling;
    if (this.canceling) return;
    this.canceling = true;
    void this.cancelBatches().then((allWritten) => {
      this.canceling = false;
      const more = this.deps.broker.superseded.size > 0 || this.deps.blocked.duplicateCount > 0;
      if (this.wokenMeanwhile || (allWritten && more)) this.wakeCanceler();
    });
  }

  /** Cancels one batch of each kind. False if a batch could not be written: it waits for the next sweep. */
  private async cancelBatches(): Promise<boolean> {
    const { broker, blocked } = this.deps;
    const superseded = broker.superseded.takeBatch(CANCEL_BATCH);
    if (superseded.length > 0) {
      const ids = superseded.map((e) => e.ID);
      const written = await this.cancel(superseded, () => 'canceled after more recent eval was processed');
      if (written) broker.superseded.forget(ids);
      else {
        broker.superseded.putBack(ids);
        return false;
      }
    }
    const duplicates = blocked.takeDuplicates(CANCEL_BATCH);
    if (duplicates.length === 0) return true;
    const written = await this.cancel(duplicates, (e) => `existing blocked evaluation exists for job "${e.JobID}"`);
    if (!written) blocked.returnDuplicates(duplicates);
    return written;
  }

  private async cancel(evals: readonly Evaluation[], description: (e: Evaluation) => string): Promise<boolean> {
    const now = nsFromMs(this.deps.clock.nowMs());
    const rows = evals.flatMap((e) => this.deps.tables.evals.get(e.ID) ?? []).filter((e) => !isTerminalEvaluation(e));
    if (rows.length === 0) return true;
    const canceled = rows.map((e): Evaluation => ({
      ...e,
      Status: 'canceled',
      StatusDescription: description(e),
      QueuedAllocations: {}, // the evaluation that replaced it counts them now (EB-17)
      ModifyTime: modifyTimeOf(e, now),
    }));
    try {
      await this.deps.writer.write('EvalUpdate', { Evals: canceled });
      return true;
    } catch (error) {
      this.deps.logger.warn('superseded evaluations could not be canceled', { error, count: canceled.length });
      return false;
    }
  }

  /** Fails the evaluations of the failed queue (EB-101 to EB-106), until the term ends. It waits while the broker is paused. */
  private async reapFailed(): Promise<void> {
    while (!this.stopped) {
      try {
        const delivery = await this.deps.broker.dequeue([FAILED_QUEUE], 0);
        if (delivery && !this.stopped) await this.fail(delivery);
      } catch (error) {
        if (error instanceof NotHolderError || this.stopped) continue;
        this.deps.logger.warn('evaluation at its delivery limit could not be failed', { error });
        await new Promise<void>((resolve) => this.after(REAPER_RETRY_MS, resolve));
      }
    }
  }

  private async fail({ evaluation, token }: Delivery): Promise<void> {
    const { broker, writer, logger } = this.deps;
    if (evaluation.Type !== CORE_TYPE && !isTerminalEvaluation(evaluation)) {
      logger.warn('evaluation reached delivery limit', { evalId: evaluation.ID, jobId: evaluation.JobID });
      try {
        const stepTimes = broker.deliveries.stepsOf(evaluation.ID, token).takeOf(evaluation.ID);
        await writer.write('EvalUpdate', { Evals: this.failedWithFollowUp(evaluation) }, '', { stepTimes });
      } catch (error) {
        broker.nack(evaluation.ID, token);
        throw error;
      }
    }
    broker.ack(evaluation.ID, token);
  }

  private failedWithFollowUp(evaluation: Evaluation): Evaluation[] {
    const { tables, clock, newId, random, deliveryLimit } = this.deps;
    const now = nsFromMs(clock.nowMs());
    const failed: Evaluation = {
      ...evaluation,
      Status: 'failed',
      StatusDescription: `evaluation reached delivery limit (${deliveryLimit})`,
      ModifyTime: modifyTimeOf(evaluation, now),
    };
    if (!tables.jobs.has(namespacedKey(evaluation.Namespace, evaluation.JobID))) return [failed];
    const followUp = newEvaluation({
      ID: newId(),
      Namespace: evaluation.Namespace,
      Priority: evaluation.Priority,
      Type: evaluation.Type,
      TriggeredBy: 'failed-follow-up',
      JobID: evaluation.JobID,
      JobModifyIndex: evaluation.JobModifyIndex,
      PreviousEval: evaluation.ID,
      Wait: FOLLOW_UP_WAIT_NS + Math.floor(random() * FOLLOW_UP_JITTER_NS),
      CreateTime: now,
    });
    return [{ ...failed, NextEval: followUp.ID }, followUp];
  }

  private every(ms: number, action: () => void): void {
    this.after(ms, () => {
      action();
      this.every(ms, action);
    });
  }

  private after(ms: number, action: () => void): void {
    const cancel = this.deps.timers.after(ms, () => {
      this.cancelTimers.delete(cancel);
      action();
    });
    this.cancelTimers.add(cancel);
  }
}
