import type { CancelTimer, Timers } from '@waybill/model';

/** What is waited for is told after this, and again after it when it has become something else. */
export const WAIT_NOTICE_MS = 3_000;

/** Tells what something waits for, unless the wait is short. One timer while it waits; `set('')` ends it. */
export class WaitNotice {
  private text = '';
  private told = '';
  private cancel: CancelTimer | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly tell: (text: string) => void,
  ) {}

  /** What it waits for now, as people are told of it; empty: for nothing. */
  set(text: string): void {
    this.text = text;
    if (text === '') {
      this.cancel?.();
      this.cancel = undefined;
    } else if (text !== this.told) this.cancel ??= this.timers.after(WAIT_NOTICE_MS, () => this.onTime());
  }

  private onTime(): void {
    this.cancel = undefined;
    if (this.text === this.told) return;
    this.told = this.text;
    this.tell(this.text);
  }
}
