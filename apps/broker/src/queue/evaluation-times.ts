import { type EvalTimer, type Meter, noMeter } from '../meter.js';
import type { Tracked } from './tracked-evaluation.js';

/** Evaluations whose times are remembered for the timers; more have no samples (EB-321). */
export const MAX_TIMED = 10_000;

/** Which evaluations have their times measured: those that came in by themselves, as long as they are not too many. */
export class EvaluationTimes {
  private timed = 0;

  constructor(private readonly meter: Meter = noMeter) {}

  /** Whether one that comes in now is to be measured. */
  begin(): boolean {
    if (this.timed >= MAX_TIMED) return false;
    this.timed++;
    return true;
  }

  observe({ evaluation, timed }: Tracked, timer: EvalTimer, ms: number): void {
    if (timed) this.meter.observeEval(timer, ms, evaluation);
  }

  end(tracked: Tracked): void {
    if (tracked.timed) this.timed--;
  }

  clear(): void {
    this.timed = 0;
  }
}
