import { type CheckRestart, msFromNs } from '@waybill/model';

/**
 * CheckRestartTerms decides whether a failing check restarts its task (AG-147): after `Grace` from the task's start,
 * once the check has failed for (`Limit` − 1) intervals without a pass. After a decision to restart, and after a new
 * start of the task, it begins again.
 */
export class CheckRestartTerms {
  private failingSinceMs: number | undefined;
  private readonly graceMs: number;
  private readonly patienceMs: number;

  constructor({ Limit, Grace }: CheckRestart, intervalNs: number) {
    this.graceMs = msFromNs(Grace);
    this.patienceMs = (Limit - 1) * msFromNs(intervalNs);
  }

  /**
   * Handles a result and says whether the restart is due.
   * @param upSinceMs the task's start; undefined if it is not up
   */
  isDue(passed: boolean, nowMs: number, upSinceMs: number | undefined): boolean {
    if (passed || upSinceMs === undefined || nowMs < upSinceMs + this.graceMs) {
      this.failingSinceMs = undefined;
      return false;
    }
    if (this.failingSinceMs === undefined || this.failingSinceMs < upSinceMs) this.failingSinceMs = nowMs;
    if (nowMs - this.failingSinceMs < this.patienceMs) return false;
    this.failingSinceMs = undefined;
    return true;
  }
}
