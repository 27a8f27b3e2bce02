import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { SeededRandom } from './seeded-random.js';
import type { Simulator } from './simulator.js';

/**
 * One start of one process: its clock, its timers, its chance. Nothing of it happens after `kill`.
 *
 * running ⇄ paused → dead. Paused (SIGSTOP, a long collection of garbage, a suspended machine): what would happen to it
 * happens when it goes on, in order. Its wall clock may be off and drift; timers and `monotonic` run in true time.
 * As on a real machine, wall clock and timers count whole milliseconds, each from a moment of its own: a timer comes up to
 * a millisecond before the clock has moved by as much.
 */
export class SimulatedProcess implements Clock, Timers {
  private dead = false;
  private readonly ends = new Set<() => void>();
  private pausedUntilMs = 0;
  private stalledUntilMs = 0;
  private offsetMs = 0;
  private driftPerMs = 0;
  private driftSinceMs: number;
  /** Where in its millisecond each of the two stands, [0, 1). */
  private readonly clockPhaseMs: number;
  private readonly timerPhaseMs: number;

  constructor(
    private readonly simulator: Simulator,
    readonly name: string,
    readonly random: SeededRandom,
  ) {
    this.driftSinceMs = simulator.nowMs;
    const phases = random.fork('phases');
    this.clockPhaseMs = phases.next();
    this.timerPhaseMs = phases.next();
  }

  get isAlive(): boolean {
    return !this.dead;
  }

  /** Its wall clock, unix milliseconds. */
  nowMs(): number {
    const { nowMs } = this.simulator;
    return Math.floor(nowMs + this.clockPhaseMs + this.offsetMs + (nowMs - this.driftSinceMs) * this.driftPerMs);
  }

  readonly monotonic: Clock = { nowMs: () => this.simulator.nowMs };

  readonly newId = (): string => this.random.uuid();

  after(delayMs: number, run: () => void): CancelTimer {
    const sinceTickMs = (this.simulator.nowMs + this.timerPhaseMs) % 1;
    const ticks = delayMs >= 1 ? Math.floor(delayMs) : 1;
    return this.reachedAfter(ticks - sinceTickMs, `${this.name} timer`, run);
  }

  /** Something is on its way to it, and arrives at any fraction of a millisecond. */
  reachedAfter(delayMs: number, label: string, run: () => void): CancelTimer {
    return this.simulator.schedule(delayMs, label, () => this.execute(run));
  }

  /** Something reaches it: now, when it goes on, or never. */
  execute(run: () => void): void {
    if (this.dead) return;
    const { nowMs } = this.simulator;
    if (this.pausedUntilMs <= nowMs) return run();
    this.simulator.schedule(this.pausedUntilMs - nowMs, `${this.name} goes on`, () => this.execute(run));
  }

  kill(): void {
    this.dead = true;
    for (const run of this.ends) run();
    this.ends.clear();
  }

  /** Called when it is killed, as a peer hears of it whose connection ends. @returns stops it */
  onEnd(run: () => void): () => void {
    this.ends.add(run);
    return () => this.ends.delete(run);
  }

  pause(forMs: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.simulator.nowMs + forMs);
  }

  /** Its reading of the log stands still; everything else goes on. */
  stall(forMs: number): void {
    this.stalledUntilMs = Math.max(this.stalledUntilMs, this.simulator.nowMs + forMs);
  }

  get stalledForMs(): number {
    return Math.max(0, this.stalledUntilMs - this.simulator.nowMs);
  }

  /** The wall clock jumps by `offsetMs` and runs `driftPerMs` too fast from now on. */
  setClock(offsetMs: number, driftPerMs: number): void {
    this.offsetMs = offsetMs;
    this.driftPerMs = driftPerMs;
    this.driftSinceMs = this.simulator.nowMs;
  }
}
