import type { Timers } from '@waybill/model';

/** Something that is waited for and happens once: closed → open. Waiting costs nothing; opening twice does nothing. */
export class Gate {
  readonly opened: Promise<void>;
  isOpen = false;
  private resolve: () => void = () => {};
  private readonly waiting = new Set<() => void>();

  constructor() {
    this.opened = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  open(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.resolve();
    for (const run of this.waiting) run();
    this.waiting.clear();
  }

  /**
   * For whoever may stop waiting before it opens, which a promise does not let go of: a task that is started again and
   * again waits for its kill each time. For one that is shut. @returns forgets it
   */
  whenOpen(run: () => void): () => void {
    this.waiting.add(run);
    return () => void this.waiting.delete(run);
  }
}

/** Resolves as soon as one of the gates opens. Nothing of the wait stays with the others. */
export function firstOpened(...gates: readonly Gate[]): Promise<void> {
  if (gates.some(({ isOpen }) => isOpen)) return Promise.resolve();
  return new Promise((resolve) => whenFirstOpens(gates, resolve));
}

/** Resolves after that time, or as soon as one of the gates opens. Nothing of the wait stays with the others. */
export function pause(timers: Timers, ms: number, ...unless: readonly Gate[]): Promise<void> {
  if (unless.some(({ isOpen }) => isOpen)) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = timers.after(ms, () => {
      forget();
      resolve();
    });
    const forget = whenFirstOpens(unless, () => {
      cancel();
      resolve();
    });
  });
}

/** Calls `run` once. @param gates all shut @returns forgets all of it */
function whenFirstOpens(gates: readonly Gate[], run: () => void): () => void {
  const leaving: (() => void)[] = [];
  const leave = (): void => leaving.forEach((forget) => forget());
  for (const gate of gates)
    leaving.push(
      gate.whenOpen(() => {
        leave();
        run();
      }),
    );
  return leave;
}
