import type { Timers } from '@waybill/model';

/** Something that is waited for and happens once: closed → open. Waiting costs nothing; opening twice does nothing. */
export class Gate {
  readonly opened: Promise<void>;
  isOpen = false;
  private resolve: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  open(): void {
    this.isOpen = true;
    this.resolve();
  }
}

/** Resolves after that time, or as soon as one of the gates opens. */
export function pause(timers: Timers, ms: number, ...unless: readonly Gate[]): Promise<void> {
  return new Promise((resolve) => {
    const cancel = timers.after(ms, resolve);
    void Promise.race(unless.map((gate) => gate.opened)).then(() => {
      cancel();
      resolve();
    });
  });
}
