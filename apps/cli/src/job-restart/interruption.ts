import type { Interrupts } from '../terminal/interrupts.js';
import { understand } from './between-batches.js';
import type { Conversation } from './conversation.js';

const QUESTION =
  'Restart interrupted, no more allocations will be restarted.\n' +
  'Are you sure you want to stop the restart process? [y/N]';

/**
 * Ctrl-C during a job restart (JR-801 to JR-806). Modes: running → asking (`passed` waits, started work continues) →
 * running again, or ended (`passed` never resolves, `ended` resolves with the exit code, all requests are aborted).
 */
export class Interruption {
  private asking: Promise<void> | undefined;
  private end: (exitCode: number) => void = () => undefined;
  readonly ended = new Promise<number>((resolve) => (this.end = resolve));

  constructor(
    private readonly conversation: Conversation,
    private readonly interrupts: Interrupts,
  ) {
    interrupts.takeOver(() => this.press());
  }

  /** Resolves once no Ctrl-C question is open. */
  async passed(): Promise<void> {
    while (this.asking) await this.asking;
  }

  private press(): void {
    if (this.conversation.isAsking) this.conversation.closeQuestion();
    else this.asking ??= this.askWhetherToEnd();
  }

  private async askWhetherToEnd(): Promise<void> {
    const answer = await this.conversation.askUntilUnderstood(QUESTION, (given) =>
      understand(given, { emptyMeans: 'no', takesWait: false }),
    );
    if (answer === 'no') {
      this.asking = undefined;
      return;
    }
    this.conversation.plain('\nCanceling job restart process');
    this.end(0);
    this.interrupts.abort();
    // The run has ended, so callers wait forever.
    await new Promise<never>(() => undefined);
  }
}
