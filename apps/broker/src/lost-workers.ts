import type { CancelTimer, Timers } from '@waybill/model';

/** A delivery that lasts longer than this has its worker looked after, this often. */
export const LOOK_EVERY_MS = 1_000;
/** Looks in a row that find nobody: a connection that breaks and comes back is no lost worker. */
export const LOOKS_TO_BE_SURE = 3;

/** Asks whether a worker's connection is there; calls back if it is not, and says nothing if it is. */
export type LookForWorker = (ifGone: () => void) => void;

export interface LostWorkersDeps {
  readonly timers: Timers;
  /** Whether the delivery is still in progress. */
  readonly lasts: (evalId: string, token: string) => boolean;
  readonly giveBack: (evalId: string, token: string) => void;
}

interface Watched {
  readonly evalId: string;
  readonly token: string;
  readonly look: LookForWorker;
  isMissed: boolean;
  missedInARow: number;
}

/**
 * Gives back what workers had in their hands that were killed or lost their machine, within LOOKS_TO_BE_SURE looks
 * instead of after the nack timeout (EB-80), which remains for those that are there and say nothing. Who is lost is
 * told by the connection, not by an answer: a worker in a long pass answers nobody. One who is taken for lost in error
 * does no harm: its token is void.
 *
 * Resting (no deliveries, no timer) ⇄ looking.
 * Cost: a delivery that ends before the next look, a map entry; a longer one, a message per look.
 */
export class LostWorkers {
  /** By token. */
  private watched = new Map<string, Watched>();
  private cancel: CancelTimer | undefined;

  constructor(private readonly deps: LostWorkersDeps) {}

  /** Deliveries that are looked after, with those that ended since the last look. */
  get size(): number {
    return this.watched.size;
  }

  watch(evalId: string, token: string, look: LookForWorker): void {
    this.watched.set(token, { evalId, token, look, isMissed: false, missedInARow: 0 });
    this.cancel ??= this.arm();
  }

  clear(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.watched = new Map();
  }

  private arm(): CancelTimer {
    return this.deps.timers.after(LOOK_EVERY_MS, () => this.lookAround());
  }

  private lookAround(): void {
    for (const watched of this.watched.values()) {
      if (this.deps.lasts(watched.evalId, watched.token)) this.lookFor(watched);
      else this.watched.delete(watched.token);
    }
    this.cancel = this.watched.size > 0 ? this.arm() : undefined;
  }

  private lookFor(watched: Watched): void {
    if (!watched.isMissed) watched.missedInARow = 0;
    watched.isMissed = false;
    watched.look(() => {
      watched.isMissed = true;
      watched.missedInARow++;
      if (watched.missedInARow === LOOKS_TO_BE_SURE) this.deps.giveBack(watched.evalId, watched.token);
    });
  }
}
