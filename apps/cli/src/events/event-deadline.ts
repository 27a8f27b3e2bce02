/** The end of -timeout, as an abort. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(ms: number | undefined) {
    if (ms !== undefined) this.timer = setTimeout(() => this.controller.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Rejects with an AbortError when the deadline comes first. */
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
