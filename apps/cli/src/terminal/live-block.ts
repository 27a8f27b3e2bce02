import type { Terminal } from './terminal.js';

/** Between two pictures of the spinner (CL-212). */
const REDRAW_MS = 100;
const PICTURES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * A block of lines on a terminal under a line that turns, redrawn in place.
 * Modes: turning (from the first `show`) → stopped (`finish` writes the outcome, `stop` leaves what is there).
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

  /** The last picture: what it ended as. */
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
    // Up to where the block began, clear to the end of the screen, draw again.
    const back = this.drawnLines > 0 ? `\u001b[${this.drawnLines}A\u001b[0J` : '';
    this.terminal.print(back + lines.join('\n'));
    this.drawnLines = lines.length;
  }
}
