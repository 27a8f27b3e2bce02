import type { Call } from '../command-spec.js';
import { rfc3339 } from '../terminal/times.js';

/** Indent with the width of `==> <ts>: ` with a numeric offset. */
const INDENT = ' '.repeat(31);

/**
 * Messages and questions to the operator, each line with its time (job-restart.md 2.8). Modes: printing (lines are
 * printed as they come) → asking (one question is open; lines wait) → printing. The caller ensures that at most one
 * question is open (`isAsking`).
 */
export class Conversation {
  private held: (() => void)[] | undefined;
  private question: AbortController | undefined;

  constructor(private readonly call: Pick<Call, 'terminal' | 'clock' | 'ask'>) {}

  get isAsking(): boolean {
    return this.question !== undefined;
  }

  header(text: string): void {
    const line = this.head(text);
    this.say(() => this.call.terminal.print(this.call.terminal.bold(line)));
  }

  detail(text: string): void {
    const line = this.detailLine(text);
    this.say(() => this.call.terminal.print(line));
  }

  /** Prints a detail with `-verbose` only. */
  aside(text: string): void {
    const line = this.detailLine(text);
    this.say(() => this.call.terminal.print(this.call.terminal.coloured('gray', line)));
  }

  /** Prints a line without a time. */
  plain(text: string): void {
    this.say(() => this.call.terminal.print(text));
  }

  /** Prints to stderr. */
  warn(text: string): void {
    const line = this.head(text);
    this.say(() => this.call.terminal.warn(line));
  }

  /** Prints to stderr, without a time. */
  error(text: string): void {
    this.say(() => this.call.terminal.error(text));
  }

  /**
   * Asks until the answer is valid (JR-506).
   * @returns undefined if the input ended or the question was closed
   */
  async askUntilUnderstood<T>(text: string, understand: (given: string) => T | undefined): Promise<T | undefined> {
    const question = new AbortController();
    this.question = question;
    this.held = [];
    try {
      for (;;) {
        const given = await this.answerTo(text, question.signal);
        const answer = given === undefined ? undefined : understand(given);
        if (given === undefined || answer !== undefined) return answer;
        this.call.terminal.print(`${INDENT}Invalid answer ${JSON.stringify(given.trim())}`);
      }
    } finally {
      this.question = undefined;
      const { held } = this;
      this.held = undefined;
      for (const print of held) print();
    }
  }

  /** Closes the open question without an answer (JR-508). */
  closeQuestion(): void {
    this.question?.abort();
  }

  private async answerTo(text: string, signal: AbortSignal): Promise<string | undefined> {
    const { terminal, ask } = this.call;
    const lines = this.head(text).split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) terminal.print(terminal.bold(line));
    return ask(`${terminal.bold(last)} `, signal).catch(() => {
      // The cursor is still on the line of the question.
      terminal.print('');
      return undefined;
    });
  }

  private say(print: () => void): void {
    if (this.held) this.held.push(print);
    else print();
  }

  private head(text: string): string {
    return `==> ${this.now()}: ${text.replaceAll('\n', `\n${INDENT}`)}`;
  }

  private detailLine(text: string): string {
    return `    ${this.now()}: ${text.replaceAll('\n', `\n${INDENT}`)}`;
  }

  private now(): string {
    return rfc3339(this.call.clock.nowMs());
  }
}
