import { systemTimers } from '@waybill/model/system-timers';

/** The end of -timeout, as an abort signal. */
export class Deadline {
  private readonly controller = new AbortController();
  readonly stop: () => void;

  constructor(ms: number | undefined) {
    this.stop = ms === undefined ? () => {} : systemTimers.after(ms, () => this.controller.abort());
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Rejects with an AbortError if the deadline comes first. */
  async race(wait: Promise<void>): Promise<void> {
    let over: () => void = () => undefined;
    const aborted = new Promise<void>((_, reject) => {
      over = () => reject(new DOMException('The time is over', 'AbortError'));
      if (this.signal.aborted) over();
      else this.signal.addEventListener('abort', over, { once: true });
    });
    await Promise.race([wait, aborted]).finally(() => this.signal.removeEventListener('abort', over));
  }
}
