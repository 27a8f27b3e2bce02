import type { Terminal } from './terminal.js';

/** Milliseconds between two frames of the spinner (CL-212). */
const REDRAW_MS = 100;
const PICTURES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * A block of lines below a spinner, redrawn in place on a terminal. Modes: running (from the first `show`) → stopped
 * (`finish` prints the outcome, `stop` leaves the block as it is).
 */
export class LiveBlock {
  private drawnLines = 0;
  private turn = 0;
  private block = '';
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly terminal: Terminal,
    private readonly title: string,
  ) {}

  show(block: string): void {
    this.block = block;
    this.timer ??= setInterval(() => this.draw(`${this.picture()} ${this.title} in progress...`), REDRAW_MS);
  }

  /** Draws the last frame with the outcome. */
  finish(status: string, isGood = status === 'successful'): void {
    this.stop();
    this.draw(`${isGood ? '✓' : '!'} ${this.title} ${status}`);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private picture(): string {
    this.turn = (this.turn + 1) % PICTURES.length;
    return PICTURES[this.turn] ?? '';
  }

  private draw(head: string): void {
    const lines = [`  ${head}`, '', ...this.block.split('\n')];
    // Move up to the start of the block, clear to the end of the screen, and draw again.
    const back = this.drawnLines > 0 ? `\u001b[${this.drawnLines}A\u001b[0J` : '';
    this.terminal.print(back + lines.join('\n'));
    this.drawnLines = lines.length;
  }
}
