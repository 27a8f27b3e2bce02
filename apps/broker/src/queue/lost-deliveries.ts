import type { CancelTimer, Timers } from '@waybill/model';

/** A delivery that lasts longer than this has its worker looked for, this often. */
export const LOOK_EVERY_MS = 1_000;
/** Looks in a row that find nobody: a connection that breaks and comes back is no lost worker. */
export const LOOKS_TO_BE_SURE = 3;

/** Asks whether a worker's connection is there; calls back if it is not, and says nothing if it is. */
export type LookForWorker = (ifGone: () => void) => void;

export interface LostDeliveriesDeps {
  readonly timers: Timers;
  /** Whether the delivery is still in progress. */
  readonly lasts: (evalId: string, token: string) => boolean;
  readonly giveBack: (evalId: string, token: string) => void;
}

interface Handed {
  readonly evalId: string;
  readonly token: string;
  readonly look: LookForWorker;
  isMissed: boolean;
  missedInARow: number;
}

/**
 * Gives back what is in nobody's hands any more, instead of waiting for the nack timeout (EB-80), which remains for a
 * worker that is there and says nothing. A delivery is lost when its worker asks for work: it has nothing then, so the
 * answer was lost on its way; and when its worker was killed or lost its machine, which is found within LOOKS_TO_BE_SURE
 * looks. Who is gone is told by the connection, not by an answer: a worker in a long pass answers nobody. One that is
 * taken for lost in error does no harm: its token is void.
 *
 * Resting (nothing handed out, no timer) ⇄ looking.
 * Cost: a delivery that ends before the next look, a map entry; a longer one, a message per look.
 */
export class LostDeliveries {
  /** By worker: each has one delivery at a time. */
  private handed = new Map<string, Handed>();
  private cancel: CancelTimer | undefined;

  constructor(private readonly deps: LostDeliveriesDeps) {}

  /** Deliveries that are looked after, with those that ended since the last look. */
  get size(): number {
    return this.handed.size;
  }

  /** @param worker its id; of one that has none the delivery's token will do */
  begin(worker: string, evalId: string, token: string, look: LookForWorker): void {
    this.handed.set(worker, { evalId, token, look, isMissed: false, missedInARow: 0 });
    this.cancel ??= this.arm();
  }

  /** The worker wants work, so it has none. */
  isEmptyHanded(worker: string): void {
    const handed = this.handed.get(worker);
    if (!handed) return;
    this.handed.delete(worker);
    if (this.deps.lasts(handed.evalId, handed.token)) this.deps.giveBack(handed.evalId, handed.token);
  }

  clear(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.handed = new Map();
  }

  private arm(): CancelTimer {
    return this.deps.timers.after(LOOK_EVERY_MS, () => this.lookAround());
  }

  private lookAround(): void {
    for (const [worker, handed] of this.handed) {
      if (this.deps.lasts(handed.evalId, handed.token)) this.lookForWorkerOf(handed);
      else this.handed.delete(worker);
    }
    this.cancel = this.handed.size > 0 ? this.arm() : undefined;
  }

  private lookForWorkerOf(handed: Handed): void {
    if (!handed.isMissed) handed.missedInARow = 0;
    handed.isMissed = false;
    handed.look(() => {
      handed.isMissed = true;
      handed.missedInARow++;
      if (handed.missedInARow === LOOKS_TO_BE_SURE) this.deps.giveBack(handed.evalId, handed.token);
    });
  }
}
