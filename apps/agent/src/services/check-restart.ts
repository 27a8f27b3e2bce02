import { type CheckRestart, msFromNs } from '@waybill/model';

/**
 * Whether a failing check restarts its task (AG-147): after `Grace` from the task's start, once it has failed for
 * (`Limit` − 1) intervals without a pass. Due once; then it begins again, as it does when the task was started anew.
 */
export class CheckRestartTerms {
  private failingSinceMs: number | undefined;
  private readonly graceMs: number;
  private readonly patienceMs: number;

  constructor({ Limit, Grace }: CheckRestart, intervalNs: number) {
    this.graceMs = msFromNs(Grace);
    this.patienceMs = (Limit - 1) * msFromNs(intervalNs);
  }

  /** After each look. @param upSinceMs of the task; undefined: it is not up */
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
