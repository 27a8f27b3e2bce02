import type { Timers } from '@waybill/model';

/** Gate is an event that happens once: closed → open. Waiting costs nothing; opening twice does nothing. */
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
   * Calls `run` when the gate opens. The gate must be shut. Unlike a promise, it releases a waiter that stops waiting,
   * such as each start of a task that waits for its kill.
   * @returns a function that removes `run`
   */
  whenOpen(run: () => void): () => void {
    this.waiting.add(run);
    return () => void this.waiting.delete(run);
  }
}

/** Resolves as soon as one of the gates opens. The other gates keep no reference to the wait. */
export function firstOpened(...gates: readonly Gate[]): Promise<void> {
  if (gates.some(({ isOpen }) => isOpen)) return Promise.resolve();
  return new Promise((resolve) => whenFirstOpens(gates, resolve));
}

/** Resolves after the time, or as soon as one of the gates opens. The other gates keep no reference to the wait. */
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

/**
 * Calls `run` once when the first gate opens.
 * @param gates all of them shut
 * @returns a function that removes the wait
 */
function whenFirstOpens(gates: readonly Gate[], run: () => void): () => void {
  const leaving: (() => void)[] = [];
  const stopWaiting = (): void => leaving.forEach((forget) => forget());
  for (const gate of gates)
    leaving.push(
      gate.whenOpen(() => {
        stopWaiting();
        run();
      }),
    );
  return stopWaiting;
}
