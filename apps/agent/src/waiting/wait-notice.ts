import type { CancelTimer, Timers } from '@waybill/model';

/** The time in milliseconds after which a wait is reported, and reported again if its reason has changed. */
export const WAIT_NOTICE_MS = 3_000;

/** WaitNotice reports the reason of a wait, unless the wait is short. One timer during the wait; `set('')` ends it. */
export class WaitNotice {
  private text = '';
  private emitted = '';
  private cancel: CancelTimer | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly emitText: (text: string) => void,
  ) {}

  /** Sets the reason of the wait, as people see it; empty ends the wait. */
  setReason(text: string): void {
    this.text = text;
    if (text === '') {
      this.cancel?.();
      this.cancel = undefined;
    } else if (text !== this.emitted) this.cancel ??= this.timers.after(WAIT_NOTICE_MS, () => this.onTime());
  }

  private onTime(): void {
    this.cancel = undefined;
    if (this.text === this.emitted) return;
    this.emitted = this.text;
    this.emitText(this.text);
  }
}
