import {
  CORE_TYPE,
  isTerminalEvaluation,
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
import { FAILED_QUEUE, type Delivery } from '../queue/delivery.js';
import type { EvalBroker } from '../queue/eval-broker.js';

/** Evaluations canceled in one transaction (EB-95). */
export const CANCEL_BATCH = 728;
/** Superseded and duplicate evaluations are looked for at least this often (EB-96). */
export const CANCEL_SWEEP_MS = 5_000;
/** Evaluations that lost too many races are tried again (EB-186). */
export const UNBLOCK_FAILED_MS = 60_000;
/** The unblock log is pruned (EB-191). */
export const PRUNE_MS = 5 * 60_000;
/** A reaper whose write failed waits this long. */
export const REAPER_RETRY_MS = 1_000;
/** Wait of a follow-up of a failed evaluation: this, and up to that much more by chance (EB-103). */
export const FOLLOW_UP_WAIT_NS = NS_PER_MINUTE;
export const FOLLOW_UP_JITTER_NS = 5 * NS_PER_MINUTE;

export interface ReapersDeps {
  readonly broker: EvalBroker;
  readonly blocked: BlockedEvals;
  readonly tables: Tables;
  readonly writer: HolderWriter;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly random: () => number;
  readonly deliveryLimit: number;
  readonly logger: Logger;
}

/**
 * The holder's clean-up: writes superseded and duplicate evaluations as canceled, fails those that reached the delivery
 * limit (with a delayed follow-up), wakes those that lost too many races.
 *
 * Modes: running (start → stop). One cancel write at a time, of one batch; it wakes itself
 * while there is more, so that the writes pace themselves (EB-96). What could not be
 * written is put back and tried at the next sweep (EB-98). Limits: CANCEL_BATCH, CANCEL_SWEEP_MS.
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

  /** After an ack, and when a duplicate appeared. Never waited for (EB-77, EB-97). */
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

  /** One batch of each kind. False if one could not be written: it waits for the next sweep. */
  private async cancelBatches(): Promise<boolean> {
    const { broker, blocked } = this.deps;
    const superseded = broker.superseded.take(CANCEL_BATCH);
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

  private async cancel(evals: readonly Evaluation[], why: (e: Evaluation) => string): Promise<boolean> {
    const now = nsFromMs(this.deps.clock.nowMs());
    const rows = evals.flatMap((e) => this.deps.tables.evals.get(e.ID) ?? []).filter((e) => !isTerminalEvaluation(e));
    if (rows.length === 0) return true;
    const canceled = rows.map((e): Evaluation => ({
      ...e,
      Status: 'canceled',
      StatusDescription: why(e),
      QueuedAllocations: {}, // what waits now is said by the evaluation that took its place (EB-17)
      ModifyTime: laterThanCreation(e, now),
    }));
    try {
      await this.deps.writer.write('EvalUpdate', { Evals: canceled });
      return true;
    } catch (error) {
      this.deps.logger.warn('superseded evaluations could not be canceled', { error, count: canceled.length });
      return false;
    }
  }

  /** EB-101 to EB-106. Ends with the term; a pause only makes it wait. */
  private async reapFailed(): Promise<void> {
    while (!this.stopped) {
      try {
        const delivery = await this.deps.broker.dequeue([FAILED_QUEUE], 0);
        if (delivery && !this.stopped) await this.fail(delivery);
      } catch (error) {
        if (error instanceof NotHolderError) continue;
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
        const stepTimes = broker.deliveries.steps(evaluation.ID, token).takeOf(evaluation.ID);
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
      ModifyTime: laterThanCreation(evaluation, now),
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

  private every(ms: number, run: () => void): void {
    this.after(ms, () => {
      run();
      this.every(ms, run);
    });
  }

  private after(ms: number, run: () => void): void {
    const cancel = this.deps.timers.after(ms, () => {
      this.cancelTimers.delete(cancel);
      if (!this.stopped) run();
    });
    this.cancelTimers.add(cancel);
  }
}

/** EB-16: clocks of two services may differ. */
function laterThanCreation(evaluation: Evaluation, nowNs: number): number {
  return nowNs > evaluation.CreateTime ? nowNs : evaluation.CreateTime + 1;
}
